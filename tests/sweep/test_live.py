"""The page of a search while it goes on: validation chooses, and no test score is shown."""

import re
from collections.abc import Mapping, Sequence
from contextlib import closing
from html import unescape
from pathlib import Path

import pytest

from fedkin.core.errors import FedkinError
from fedkin.report.watch import Watch
from fedkin.runs.database import open_run, put_rows
from fedkin.runs.output_files import STUDY
from fedkin.sweep.live import LiveTrials
from tests.cli.command import fedkin
from tests.report.records_for_tests import write


def trial(folder: Path, validation: Sequence[float], test: float, finished: bool = True) -> Path:
    """A run whose clients' final personal scores are these: on validation each its own, on test all
    one.
    """
    write(folder, finished=finished)
    scores: Mapping[str, Sequence[float]] = {"val": validation, "test": [test] * 3}
    with closing(open_run(folder, write=True)) as database, database.commit() as transaction:
        rows = [
            (3, client, "personal", split, 1.0, value)
            for split, values in scores.items()
            for client, value in enumerate(values)
        ]
        transaction.execute("DELETE FROM metrics WHERE round = 3 AND view = 'personal'")
        put_rows(transaction, "metrics", rows)
    return folder


def words(text: str) -> str:
    """What a page says."""
    body = text[text.index("<body>") : text.index("<script")]
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", body)).split())


def sweep_folder(tmp_path: Path) -> Path:
    tmp_path.joinpath(STUDY).touch()
    return tmp_path


def test_validation_leads_and_no_test_score_is_there(tmp_path: Path) -> None:
    folder = sweep_folder(tmp_path)
    trial(folder / "0000-lr=0.1", [0.25, 0.25, 0.3], test=0.9777)
    trial(folder / "0001-lr=0.2", [0.75, 0.75, 0.8], test=0.1333)
    trial(folder / "0002-lr=0.3", [0.5, 1.0, 1.0], test=0.5111, finished=False)
    trial(folder / "seed1-0001-lr=0.2", [1.0, 1.0, 1.0], test=0.2)  # no trial
    found = LiveTrials.of(folder)
    assert found is not None
    text, changes = found.page()
    assert changes
    said = words(text)
    # weighted by 4, 4 and 8 validation samples
    assert "3 trials by validation" in said
    assert "0001-lr=0.2 is best so far: validation accuracy 0.7750. No test score is shown" in said
    assert "0001-lr=0.2 1 0.7750 2 14.0 s finished 0000-lr=0.1 2 0.2750 2" in said
    assert "0002-lr=0.3 0.8750 2 14.0 s unfinished: round 2 of 2" in said
    assert not re.search(r"97\.77|9777|13\.33|1333|51\.11|5111", text[: text.index("<script")])
    assert "experiment.toml --seed 0 --out" in said  # the trials' is 7
    with Watch(folder, live=found) as server:
        assert server.live is found


def test_who_cannot_be_distinguished_shares_the_rank(tmp_path: Path) -> None:
    folder = sweep_folder(tmp_path)
    trial(folder / "0000-lr=0.1", [0.5, 0.75, 0.7], test=0.9)
    trial(folder / "0001-lr=0.2", [0.75, 0.5, 0.75], test=0.1)
    found = LiveTrials.of(folder)
    assert found is not None
    said = words(found.page()[0])
    assert "validation accuracy 0.6875, and 1 other cannot be distinguished from it" in said
    assert "0001-lr=0.2 1= 0.6875" in said


def test_a_client_that_diverged_gives_no_rank(tmp_path: Path) -> None:
    folder = sweep_folder(tmp_path)
    run = trial(folder / "0000-lr=9", [0.5, 0.75, 0.7], test=0.9)
    with closing(open_run(run, write=True)) as database, database.commit() as transaction:
        transaction.execute("UPDATE metrics SET loss = NULL WHERE round = 3 AND client = 1")
    found = LiveTrials.of(folder)
    assert found is not None
    said = words(found.page()[0])
    assert "No trial has a value yet." in said
    assert "0000-lr=9 – 2 14.0 s finished; a client diverged" in said
    trial(folder / "0001-lr=1", [0.5, 0.75, 0.7], test=0.9)
    assert "0001-lr=1 is best so far" in words(found.page()[0])


def test_before_the_first_trial_the_page_waits(tmp_path: Path) -> None:
    assert LiveTrials.of(tmp_path) is None
    found = LiveTrials.of(sweep_folder(tmp_path))
    assert found is not None
    text, changes = found.page()
    assert changes
    assert words(text) == "0 trials by validation No trial has a value yet."


def test_the_command_takes_a_sweeps_folder_as_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[object] = []

    def watch(folder: Path, port: int, live: object) -> None:
        asked.append(live)
        raise FedkinError("asked")

    monkeypatch.setattr("fedkin.report.watch.Watch", watch)
    assert "asked" in fedkin("watch", sweep_folder(tmp_path)).stderr
    assert [type(one) for one in asked] == [LiveTrials]
