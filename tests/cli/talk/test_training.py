"""A training run under a display, and what came out of it."""

import json
import logging

import pytest

from fedkin.cli.talk import training
from fedkin.experiment.terminal import loudness
from fedkin.runs.record import Record
from tests.awkward import record
from tests.cli.command import fedkin
from tests.engine.small import small

ROUND = Record(1, "round", [0], [], {}, {}, {}, {}, {"total": 1.0})


@pytest.fixture
def quiet(monkeypatch):
    """No page, and leaks that somebody found; what a command says is said."""
    loudness(logging.INFO)
    asked = []
    # first what imports the other: imported later, it would keep what stands in its place
    monkeypatch.setattr("fedkin.cli.talk.closing.closing", lambda folder, out: asked.append(folder))
    monkeypatch.setattr("fedkin.report.page.report.write_report", lambda run: run / "r.html")
    monkeypatch.setattr("fedkin.doctor.data_checks.data_notes", lambda spec: ["'id' is a leak"])
    return asked


def work(folder, rounds=2):
    def done(told):
        for _ in range(rounds):
            told(ROUND)
        return folder

    return done


def test_leaks_are_told_once_and_of_new_runs_alone(quiet, tmp_path, capsys) -> None:
    training.train(small(), work(tmp_path))
    assert capsys.readouterr().err.count("note: 'id' is a leak; fedkin data check names all") == 1
    training.train(small(), work(tmp_path), (3, 500), new=False)
    assert "leak" not in capsys.readouterr().err
    assert quiet == [tmp_path, tmp_path]


def test_an_experiment_that_is_refused_gets_one_sentence(quiet, tmp_path, capsys) -> None:
    training.train(small(), work(tmp_path, rounds=0))
    assert "leak" not in capsys.readouterr().err


def test_a_method_that_cannot_be_made_is_told_alone() -> None:
    wrong = fedkin("run", "--data", "digits", "--method", "ditto:lam=-3")
    assert wrong.exit_code == 2
    assert wrong.stdout == ""
    assert "digits" not in wrong.stderr
    assert "method.lam of ditto" in wrong.stderr


def test_where_nothing_is_left_nothing_is_displayed(quiet, tmp_path, capsys) -> None:
    training.train(small(), work(tmp_path), None)
    assert quiet == [tmp_path]
    assert "leak" not in capsys.readouterr().err


def test_quietly_it_is_the_run_as_json(quiet, tmp_path, capsys) -> None:
    folder = record(tmp_path / "run")
    training.train_quietly(small(), work(folder))
    out, err = capsys.readouterr()
    found = json.loads(out)
    assert (found["folder"], found["report"]) == (str(folder), str(folder / "r.html"))
    assert found["clients"] == 6
    assert err.count("'id' is a leak") == 1
    assert quiet == []


def test_what_a_method_prints_is_not_among_the_json(quiet, tmp_path, capsys) -> None:
    folder = record(tmp_path / "run")

    def talking(progress):
        print("round 1")
        return work(folder)(progress)

    training.train_quietly(small(), talking)
    out, err = capsys.readouterr()
    assert json.loads(out)["folder"] == str(folder)
    assert "round 1\n" in err
