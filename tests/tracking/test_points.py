"""What trackers are given of a run: the numbers of its report."""

import math
import os
from contextlib import closing
from pathlib import Path

import pytest

from fedkin.report import records
from fedkin.report.scores import curves
from fedkin.runs.database import open_run
from fedkin.runs.directory import RECORD
from fedkin.tracking.points import name_of, scalars, times
from tests.report.records_for_tests import write


def points(folder: Path) -> dict[str, list[tuple[int, float]]]:
    found: dict[str, list[tuple[int, float]]] = {}
    with records.opened(folder) as run:
        for name, at, value in scalars(run):
            found.setdefault(name, []).append((at, value))
    return found


def change(folder: Path, statement: str) -> None:
    with closing(open_run(folder, write=True)) as database, database.commit() as transaction:
        transaction.execute(statement)


def test_every_number_stands_at_its_round_once(tmp_path: Path) -> None:
    found = points(write(tmp_path / "run"))
    assert found["seconds"] == [(0, 1.0), (1, 4.0), (2, 6.0), (3, 3.0)]
    assert found["bytes"] == [(1, 1520.0), (2, 1520.0)]
    for name in ("test_accuracy", "test_loss", "validation_accuracy", "validation_loss"):
        assert [at for at, _ in found[f"{name}/personal"]] == [1, 2, 3]
    assert "diverged/personal" not in found


def test_losses_are_of_the_same_clients_in_every_round(tmp_path: Path) -> None:
    """Where a panel is evaluated each round and everybody at the end, curves are the panel's."""
    folder = write(tmp_path / "run")
    change(folder, "DELETE FROM metrics WHERE client = 2 AND round < 3")
    change(
        folder,
        """UPDATE facts SET value = json_set(value, '$.run.evaluate', 'panel:2')
           WHERE name = 'spec'""",
    )
    with records.opened(folder) as run:
        assert run.panel_round() is not None
        expected = curves(run, "loss")["personal"].test
    found = points(folder)["test_loss/personal"]
    assert [value for _, value in found] == expected == [1.5, 1.5, 1.5]


def test_who_diverged_is_in_no_mean_and_is_counted(tmp_path: Path) -> None:
    folder = write(tmp_path / "run")
    change(
        folder,
        "UPDATE metrics SET loss = NULL WHERE round = 2 AND client = 1 AND view = 'personal'",
    )
    found = points(folder)
    assert found["diverged/personal"] == [(1, 0.0), (2, 1.0), (3, 0.0)]
    assert "diverged/global" not in found
    assert [value for _, value in found["test_loss/personal"]] == [2.0, 2.0, 2.0]
    assert [at for at, _ in found["validation_accuracy/personal"]] == [1, 3]
    assert all(math.isfinite(value) for each in found.values() for _, value in each)


def test_rounds_end_when_their_seconds_have_passed(tmp_path: Path) -> None:
    folder = write(tmp_path / "run")
    os.utime(folder / RECORD, (1000.0, 1000.0))
    with records.opened(folder) as run:
        assert times(run) == {0: 987.0, 1: 991.0, 2: 997.0, 3: 1000.0}


def test_a_run_that_is_typed_as_a_dot_has_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(write(tmp_path / "my run"))
    with records.opened(Path(".")) as run:
        assert name_of(run) == "my run"
