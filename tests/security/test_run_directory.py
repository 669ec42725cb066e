"""A run directory from a stranger is data: it leads nobody out of it, and whoever reads it comes to
an end.
"""

import json
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fedkin.core.errors import FedkinError
from fedkin.runs import bounds, checkpoint
from fedkin.runs.database import open_run, read_only
from fedkin.runs.directory import path_in_run
from fedkin.runs.record import Record
from fedkin.runs.recorder import Recorder
from fedkin.runtime.code_cache import INDUCTOR
from tests.cli.command import SMALL, fedkin, told
from tests.report.records_for_tests import write
from tests.security.hostile import PLANTS, changed, hard, journal, page_size
from tests.security.reading import commands


@pytest.fixture(scope="module")
def honest(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run."""
    folder = tmp_path_factory.mktemp("honest") / "run"
    assert fedkin("run", *SMALL, "--out", folder).exit_code == 0
    return folder


def test_a_journal_that_names_another_deletes_nothing(tmp_path: Path) -> None:
    run, victim = write(tmp_path / "run"), tmp_path / "victim"
    victim.write_text("precious")
    (run / "run.db-journal").write_bytes(journal(run / "run.db", victim))
    assert "names another journal" in told("show", run)
    assert victim.exists()
    with pytest.raises(FedkinError, match="names another journal"):
        open_run(run, write=True)
    assert victim.exists()
    connection = sqlite3.connect(run / "run.db")
    connection.execute("SELECT * FROM facts").fetchall()
    connection.close()
    assert not victim.exists()  # the attack itself works: it is SQLite that deletes


@pytest.mark.parametrize("name", ["run.db", "run.lock"])
def test_what_is_written_in_place_has_no_second_name(name: str, tmp_path: Path) -> None:
    run, victim = write(tmp_path / "run"), tmp_path / "victim"
    victim.write_bytes((run / name).read_bytes() if (run / name).exists() else b"precious")
    kept = victim.read_bytes()
    hard(name)(run, victim)
    assert f"{name} is the same file as one elsewhere (a hard link)" in told("resume", run)
    with pytest.raises(FedkinError, match="hard link"), checkpoint.alone(run):
        pass
    assert victim.read_bytes() == kept


@pytest.mark.parametrize(
    ("statement", "kind"),
    [
        ("CREATE VIEW more AS SELECT 1 AS a", "view 'more'"),
        ("CREATE TRIGGER t AFTER INSERT ON rounds BEGIN DELETE FROM metrics; END", "trigger 't'"),
        ("CREATE TABLE made (a INTEGER, b INTEGER AS (a + 1))", "table 'made'"),
        ("CREATE INDEX fast ON rounds (round)", "index 'fast'"),
    ],
)
def test_a_record_is_of_plain_tables(statement: str, kind: str, tmp_path: Path) -> None:
    """Also of what ends at once: nothing that computes is asked."""
    run = write(tmp_path / "run")
    changed(run, statement)
    assert f"{kind} is no plain table" in told("show", run)


def test_a_run_that_was_killed_within_a_commit_is_read_as_it_was_and_not_written(
    tmp_path: Path,
) -> None:
    """The journal's pages are put back in a copy; who resumes the run does it in place."""
    run = write(tmp_path / "run", until=2, finished=False)
    record = run / "run.db"
    before = record.read_bytes()
    size = page_size(before)
    pages = {
        number + 1: before[number * size : (number + 1) * size]
        for number in range(len(before) // size)
    }
    torn = bytearray(before)
    torn[3 * size :] = b"\xff" * (len(torn) - 3 * size)
    record.write_bytes(torn)
    (run / "run.db-journal").write_bytes(journal(record, None, pages))
    kept = {path.name: path.read_bytes() for path in run.iterdir()}
    assert json.loads(fedkin("show", run, "--json").stdout)["rounds"] == 2
    assert {path.name: path.read_bytes() for path in run.iterdir()} == kept
    open_run(run, write=True).close()
    assert record.read_bytes() == before


def test_tidy_removes_files_of_its_own_names_only(tmp_path: Path) -> None:
    run, elsewhere = write(tmp_path / "run"), tmp_path / "elsewhere"
    (run / "checkpoint").mkdir()
    elsewhere.mkdir()
    foreign = {"thesis.tex", "0.1.safetensors.bak", "x.1.safetensors", "2.1.safetensors"}
    for folder in (run / "checkpoint", elsewhere):
        for name in (
            *foreign,
            "server.1.safetensors",
            "0.1.safetensors",
            "1.2.safetensors.77.part",
        ):
            (folder / name).write_text("mine")
        (folder / "2.1.safetensors").unlink()
        (folder / "2.1.safetensors").mkdir()
    checkpoint.tidy(run, {0: run / "checkpoint" / "0.1.safetensors"})
    assert {path.name for path in (run / "checkpoint").iterdir()} == {*foreign, "0.1.safetensors"}
    shutil.rmtree(run / "checkpoint")
    (run / "checkpoint").symlink_to(elsewhere)
    with pytest.raises(FedkinError, match="checkpoint is a link"):
        checkpoint.tidy(run, {})
    assert len(list(elsewhere.iterdir())) == 7


@pytest.mark.parametrize(
    "name", ["../out", "..", ".", "", "a/b", "a\\b", "a\0b", "x" * 300, "/etc"]
)
def test_no_name_leads_out_of_a_run(name: str, tmp_path: Path) -> None:
    with pytest.raises(FedkinError, match="cannot be the name of a file"):
        path_in_run(tmp_path, "joined", name)
    assert path_in_run(tmp_path, "joined", "St. Mary's, 2") == tmp_path / "joined" / "St. Mary's, 2"


def test_what_is_beyond_belief_is_not_measured(tmp_path: Path) -> None:
    """A poisoned score is kept as none, so that one client cannot make a run unreadable."""
    run = write(tmp_path / "run", until=1, finished=False)
    poison: dict[int, Any] = {
        0: {"personal": {"test": (0.5, 1e308), "val": (1e308, 0.25)}},
        1: {"personal": {"test": (float("inf"), -3.0), "val": (2e38, 1.0)}},
    }
    notes = {0: {"cluster": "x" * (bounds.NOTE + 1)}, 1: {"cluster": 1}}
    measures = {0: {"personal": {"test": {"rmse": 1e300}}}}
    found = Record(
        2, "round", [0, 1], [], {2: "y" * 10**6}, poison, notes, {}, {"total": 1.0}, measures
    )
    database = open_run(run, write=True)
    recorder = Recorder(run, database, lambda folder, at: [], 0.0)
    recorder.add(found)
    recorder.commit()
    database.close()
    with read_only(run) as reader:
        rows = reader.rows(
            "SELECT client, split, loss, accuracy FROM metrics WHERE round = 2 ORDER BY "
            "client, split"
        )
        assert rows == [
            (0, "test", 0.5, None),
            (0, "val", None, 0.25),
            (1, "test", None, None),
            (1, "val", 2e38, 1.0),
        ]
        assert reader.rows("SELECT value FROM measures WHERE round = 2") == [(None,)]
        ((reason,),) = reader.rows("SELECT text FROM events WHERE round = 2")
        assert len(reason) == bounds.SENTENCE + 1
        ((long,),) = reader.rows("SELECT value FROM notes WHERE round = 2 AND client = 0")
        assert long == '"not kept: 1,048,579 letters"'
    assert fedkin("report", run).exit_code == 0


EVERY = tuple(commands("", ""))


def some(number: int) -> tuple[str, ...]:
    """Two commands in their turn; nightly, every one on every directory."""
    return EVERY[2 * number % len(EVERY)], EVERY[(2 * number + 1) % len(EVERY)]


@pytest.mark.rotating
@pytest.mark.parametrize(
    "chosen",
    [some, pytest.param(lambda number: EVERY, marks=pytest.mark.slow)],
    ids=["some", "every"],
)
def test_fifty_run_directories_of_strangers(
    chosen: Callable[[int], tuple[str, ...]], honest: Path, tmp_path: Path
) -> None:
    """Every reading command on them: one sentence or a page, nothing outside, no process, no
    network, an end.
    """
    out = tmp_path / "out"
    out.mkdir()
    rng = np.random.default_rng(0)
    x = rng.integers(0, 17, (30, 1, 8, 8), dtype=np.uint8)
    np.savez(out / "samples.npz", x=x, y=np.arange(30) % 10)
    shutil.copytree(honest, tmp_path / "honest" / "run")
    (tmp_path / "honest" / "victim").write_text("precious")
    places, asked = {str(tmp_path / "honest" / "run"): HONEST}, [EVERY]
    for number, (name, plant) in enumerate(PLANTS.items()):
        place = tmp_path / str(number)
        shutil.copytree(honest, place / "run")
        (place / "victim").write_text("precious")
        plant(place / "run", place / "victim")
        places[str(place / "run")] = name
        asked.append(chosen(number))
    assert len(places) > 50
    here = {"PYTHONPATH": os.pathsep.join(sys.path), "TMPDIR": str(out), "XDG_CACHE_HOME": str(out)}
    done = subprocess.run(
        [sys.executable, str(Path(__file__).with_name("reading.py")), str(out), "20"],
        input="\n".join(f"{place}\t{','.join(names)}" for place, names in zip(places, asked)),
        env={key: value for key, value in os.environ.items() if key != INDUCTOR} | here,
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found: list[dict[str, Any]] = [json.loads(line) for line in done.stdout.splitlines()]
    assert [one["command"] for one in found] == [
        name for names in asked for name in EVERY if name in names
    ]
    for one in found:
        read_well(places[one["run"]], one)
    assert found[-1]["mb"] - found[len(EVERY) - 1]["mb"] < 512
    for path, name in places.items():
        place = Path(path).parent
        assert (place / "victim").read_text() == "precious", name
        assert {one.name for one in place.iterdir()} == {"run", "victim"}, name
    slowest = max(one["seconds"] for one in found)
    print(f"{len(places)} directories, {len(found)} commands, the slowest {slowest} s")


HONEST = "nothing"


def read_well(name: str, one: dict[str, Any]) -> None:
    """A use, or one sentence; an honest run can be used by every command."""
    about = name, one["command"], one
    assert one["bug"] == "", about
    assert one["seen"] == [], about
    assert one["code"] in ((0,) if name == HONEST else (0, 2)), about
    assert "\x1b" not in one["out"] + one["err"], about
    assert "Traceback" not in one["out"] + one["err"], about
    if one["code"] == 2:
        assert one["err"].startswith("error: "), about
        assert len(one["err"].splitlines()) == 1, about
        assert len(one["err"]) < 3000, about
