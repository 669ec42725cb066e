"""Running a preset's rows."""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fedkin.core.errors import Halted
from fedkin.experiment.training import Interrupted
from fedkin.reproduce import running, same_settings
from fedkin.reproduce.cost import cost
from fedkin.reproduce.outcome import Outcome
from fedkin.reproduce.preset import Row, preset
from fedkin.reproduce.row_spec import spec_of
from fedkin.reproduce.running import outcomes
from tests.cli.command import fedkin, without_record


def test_rows_of_another_preset_can_be_run_anew_with_changes() -> None:
    theirs, ours = preset("comet-table-3", "full").rows, preset("perfed-ckt-table-1", "full").rows
    assert {row.name for row in theirs}.isdisjoint(row.name for row in ours)
    assert {spec_of(row, 0, {}).run.rounds for row in ours} == {500}
    assert {row.values for row in ours} < {row.values for row in theirs}  # the numbers are COMET's


def test_a_preset_runs_what_it_can_and_says_what_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FEDKIN_DATA", str(tmp_path))  # there are no files
    quick = [
        f"--set={key}"
        for key in (
            "run.rounds=2",
            "engine.name=inprocess",
            "data.clients=6",
            "run.evaluate_every=1",
        )
    ]
    asked = [
        "reproduce",
        "ppfl-table-1",
        "--rows",
        "synthetic-fedavg",
        "--seeds",
        "2",
        *quick,
        "--json",
    ]
    result = fedkin(*asked)
    assert result.exit_code == 0, result.output
    (line,) = json.loads(result.stdout)["lines"]
    assert (line["published"], line["seeds"]) == (69.34, [0, 1])
    assert line["difference"] == pytest.approx(line["measured"] - 69.34)
    assert line["sd"] > 0
    page = (tmp_path / "reproduction" / "ppfl-table-1.md").read_text()
    assert "| 69.34 |" in page
    assert "examples/papers/ppfl_synthetic.toml" in page
    assert (tmp_path / "reproduction" / "ppfl-table-1.html").stat().st_size > 500_000
    result = fedkin("reproduce", "ppfl-table-1", "--rows", "mnist-local", "--json")
    (line,) = json.loads(result.stdout)["lines"]
    assert "mnist.npz" in line["missing"]
    assert line["measured"] is None
    assert result.exit_code == 1  # nothing was run
    assert "Not run, 1 row" in (tmp_path / "reproduction" / "ppfl-table-1.md").read_text()


def ended_by(
    error: Exception, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> tuple[Any, list[str]]:
    """The command of a preset whose runs end with an error, and the rows that were begun."""
    begun: list[str] = []

    def run(row: Row, *_: object) -> Outcome:
        begun.append(row.name)
        raise error

    monkeypatch.setitem(running.RUNNERS, "experiment", run)  # type: ignore[index]
    monkeypatch.chdir(folder)
    return fedkin("reproduce", "ppfl-figure-8"), begun


def test_ctrl_c_ends_a_preset_and_no_page_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    result, begun = ended_by(Interrupted("stopped after round 3"), tmp_path, monkeypatch)
    assert (result.exit_code, len(begun)) == (130, 1)
    assert "the same command goes on where it was" in result.output
    assert not list((tmp_path / "reproduction").glob("*.md"))


def test_a_full_disk_is_no_rows_fault_and_ends_a_preset(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    full = Halted("runs/a cannot be written: no space left. Committed up to round 3")
    result, begun = ended_by(full, tmp_path, monkeypatch)
    assert (result.exit_code, len(begun)) == (2, 1)
    assert f"stopped in {begun[0]}: runs/a cannot be written: no space left" in result.output
    assert not list((tmp_path / "reproduction").glob("*.md"))


def test_a_run_of_another_setting_is_not_taken(tmp_path: Path) -> None:
    (row,) = [row for row in preset("ppfl-figure-8").rows if row.options["N"] == "N2"]
    quick = {"run.rounds": 1, "engine.name": "inprocess", "data.clients": 4}
    (first,) = outcomes([row], 1, tmp_path, quick)
    assert first.missing == ""
    (again,) = outcomes([row], 1, tmp_path, quick)
    assert again.numbers == first.numbers  # not run again
    without_record(first.folders[0])
    (resumed,) = outcomes([row], 1, tmp_path, quick)
    assert resumed.numbers == first.numbers
    (other,) = outcomes([row], 1, tmp_path, {**quick, "train.lr": 0.5})
    assert "another setting (train.lr)" in other.missing
    (other,) = outcomes(
        [row], 1, tmp_path, {**quick, "method.theta_share": 0.9}
    )  # where the row has its default
    assert "another setting (method.theta_share)" in other.missing
    (wider,) = outcomes([row], 1, tmp_path / "w", {**quick, "method.theta_share": 0.9})
    assert wider.missing == ""
    (other,) = outcomes([row], 1, tmp_path / "w", quick)  # and the other way round
    assert "another setting (method.theta_share)" in other.missing


def test_a_run_from_before_a_setting_existed_has_its_default(tmp_path: Path) -> None:
    (row,) = [row for row in preset("ppfl-figure-8").rows if row.options["N"] == "N2"]
    quick = {"run.rounds": 1, "engine.name": "inprocess", "data.clients": 4}
    (first,) = outcomes([row], 1, tmp_path, quick)
    asked = json.loads((first.folders[0] / same_settings.ASKED).read_text())
    assert asked.pop("run.min_replies") == 1
    assert asked.pop("train.milestones") == []
    assert asked.pop("public.labeled") is False
    (first.folders[0] / same_settings.ASKED).write_text(json.dumps(asked))
    (again,) = outcomes([row], 1, tmp_path, quick)
    assert again.numbers == first.numbers
    (other,) = outcomes([row], 1, tmp_path, {**quick, "run.min_replies": 2})
    assert "another setting (run.min_replies)" in other.missing


def cgpfl_row() -> Row:
    """One that any data set can stand in for: its own takes no parameter."""
    rows = preset("cgpfl-table-1-consecutive").rows
    return next(row for row in rows if "mnist-cgpfl_k4" in row.name)


def test_a_finished_run_is_taken_where_data_decided_a_setting(tmp_path: Path) -> None:
    """[model] family is "auto" in the preset, and what it came to in the run's own
    specification.
    """
    row = cgpfl_row()
    quick = {
        "run.rounds": 2,
        "run.clients": 4,
        "data.name": "digits",
        "split.low": 20,
        "split.high": 60,
    }
    for _ in range(2):
        (one,) = outcomes([row], 1, tmp_path, {**quick, "engine.name": "inprocess"})
        assert one.missing == ""
    spent = cost(one.folders[0])
    assert spent is not None
    assert spent.round is not None
    assert one.seconds == spent.total > spent.round > 0


def test_a_run_is_the_same_from_any_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its files are those that were there, not those of the same relative name."""
    row = cgpfl_row()
    quick = {
        "run.rounds": 1,
        "run.clients": 4,
        "split.low": 20,
        "split.high": 60,
        "engine.name": "inprocess",
    }
    for name in ("here", "there"):
        (tmp_path / name).mkdir()
        x = np.random.default_rng(len(name)).integers(0, 255, (800, 1, 8, 8), dtype=np.uint8)
        np.savez(tmp_path / name / "t.npz", x=x, y=np.arange(800) % 10)
    monkeypatch.chdir(tmp_path / "here")
    (first,) = outcomes([row], 1, tmp_path / "out", {**quick, "data.name": "t.npz"})
    assert first.missing == ""
    monkeypatch.chdir(tmp_path / "there")
    (again,) = outcomes([row], 1, tmp_path / "out", {**quick, "data.name": "../here/t.npz"})
    assert (again.numbers, again.seconds) == (first.numbers, first.seconds)
    (other,) = outcomes([row], 1, tmp_path / "out", {**quick, "data.name": "t.npz"})
    assert "another setting (data.name)" in other.missing


def test_a_number_that_no_csv_can_hold_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """NAME.csv would be refused from then on."""
    found = {"accuracy": math.inf, "scalars": 3}
    monkeypatch.setattr("fedkin.reproduce.running.measured", lambda *_: found)
    row = preset("ppfl-figure-8").rows[0]
    assert running._measured(row, tmp_path) == {"accuracy": None, "scalars": 3.0}
