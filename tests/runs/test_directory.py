"""A run directory and its own files."""

import os
import time
from pathlib import Path

import pytest

from fedkin.core.errors import FedkinError
from fedkin.runs.directory import (
    check_home,
    check_own,
    has_begun,
    leftover,
    noted,
    path_in_run,
    recorded,
    unrecorded,
)


def test_how_far_it_came(tmp_path: Path) -> None:
    stages = []
    for name in ("", "experiment.toml", "run.db"):
        if name:
            (tmp_path / name).touch()
        stages.append((has_begun(tmp_path), recorded(tmp_path), unrecorded(tmp_path)))
    assert stages == [(False, False, False), (True, False, True), (True, True, False)]


def test_a_run_that_lost_its_record_does_not_begin_anew(tmp_path: Path) -> None:
    (tmp_path / "experiment.toml").touch()
    (tmp_path / "checkpoint").mkdir()
    assert unrecorded(tmp_path)
    (tmp_path / "checkpoint" / "server-3.safetensors").touch()
    assert not unrecorded(tmp_path)


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "a\\b", "a\nb", "x" * 256, "ü" * 128])
def test_no_name_leads_out_or_is_none(tmp_path: Path, name: str) -> None:
    with pytest.raises(FedkinError, match="cannot be the name of a file"):
        path_in_run(tmp_path, "joined", name)
    assert path_in_run(tmp_path, "joined", "ü" * 127) == tmp_path / "joined" / ("ü" * 127)


def test_a_link_a_folder_in_a_files_place_and_a_second_name_are_refused(tmp_path: Path) -> None:
    check_own(tmp_path)
    (tmp_path / "report.html").symlink_to("elsewhere")
    with pytest.raises(FedkinError, match=r"report\.html is a link"):
        check_own(tmp_path)
    (tmp_path / "report.html").unlink()
    (tmp_path / "checkpoint").touch()
    with pytest.raises(FedkinError, match="is not a folder"):
        check_own(tmp_path)
    (tmp_path / "checkpoint").unlink()
    (tmp_path / "run.db").touch()
    os.link(tmp_path / "run.db", tmp_path / "other")
    with pytest.raises(FedkinError, match="a hard link"):
        check_own(tmp_path)
    (tmp_path / "state").symlink_to(tmp_path)
    with pytest.raises(FedkinError, match="is a link"):
        path_in_run(tmp_path, "state", "0.safetensors")


def test_what_a_killed_run_leaves() -> None:
    assert leftover(Path("x/run.lock"))
    assert leftover(Path("a.safetensors.part"))
    assert not leftover(Path("x/run.db"))


def test_many_runs_have_a_folder_of_their_own(tmp_path: Path) -> None:
    """Neither a run's nor one of other runs, unless what they belong to is there."""
    runs = tmp_path / "my runs"
    for name in ("first", "second"):
        check_home(runs, "study.db", "sweep")
        (runs / name).mkdir(parents=True)
    check_home(runs, "study.db", "sweep")
    for name in ("first", "second"):
        (runs / name / "experiment.toml").touch()
    for folder, said in (
        (runs / "first", f"{runs / 'first'} is the folder of a run: choose another --out"),
        (
            runs,
            f"{runs} holds 2 runs and no sweep: choose another --out, such as '{runs / 'sweep'}'",
        ),
    ):
        with pytest.raises(FedkinError) as refused:
            check_home(folder, "study.db", "sweep")
        assert str(refused.value) == said
        assert refused.value.code == "FED-602"
    (runs / "study.db").touch()
    check_home(runs, "study.db", "sweep")


def test_an_endless_key_of_a_run_without_a_record_is_not_waited_for(tmp_path: Path) -> None:
    (tmp_path / "experiment.toml").write_text(".".join(["record"] * 100_000) + " = 1")
    began = time.process_time()
    assert noted(tmp_path) == {}
    assert time.process_time() - began < 2
