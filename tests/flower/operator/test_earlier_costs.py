"""What the runs of a deployment cost together, before another one begins."""

import sqlite3
from contextlib import closing

import pytest

from fedkin.flower.operator.earlier_costs import costs_of_runs, earlier_costs
from fedkin.report.privacy_costs import costs_as_json
from fedkin.runs import database
from fedkin.runs.database import create
from fedkin.runs.directory import RECORD
from fedkin.runs.spec import parse
from tests.engine.small import content, small

NOISE = {"noise": 2.0, "clip": 1.0, "delta": 1e-5}


def test_a_run_with_noise_is_told_what_it_adds_to(tmp_path):
    private = parse({**content("fedavg"), "privacy": NOISE})[0]
    assert (earlier_costs(tmp_path, private), costs_as_json(costs_of_runs(tmp_path))) == ("", None)
    noise = {"delta": 1e-5, "noise": 2.0, "rounds": 3}
    for name, facts in (
        ("1", {"privacy": {**noise, "epsilon": 2.5}}),
        ("2", {"privacy": None}),
        ("10", {"privacy": {**noise, "epsilon": 1.25}}),
        ("11", {"privacy": {**noise, "epsilon": 1.25, "seeded": True}}),
    ):
        (tmp_path / "runs" / name).mkdir(parents=True)
        create(tmp_path / "runs" / name / RECORD, facts).close()
    (tmp_path / "runs" / "12").mkdir()  # killed before it had a record
    assert earlier_costs(tmp_path, private) == (
        "the epsilon of this run is added to that of 3 runs with noise: epsilon = 2.5 (run 1), "
        "1.25 (run 10), together 3.75 at delta = 2e-05 by basic composition; of unknown epsilon "
        "noise 2.0, 3 rounds (run 11), so that nobody knows the sum of all"
    )
    assert earlier_costs(tmp_path, small("fedavg")) == ""


@pytest.mark.parametrize(
    "facts",
    [
        {"epsilon": 1.0},
        {"epsilon": 1.0, "rounds": "x"},
        {"epsilon": "abc", "rounds": 3},
        {"epsilon": 1.0, "delta": "x", "rounds": 3},
        "yes",
    ],
)
def test_a_record_that_no_run_writes_is_of_unknown_epsilon(tmp_path, facts):
    (tmp_path / "runs" / "1").mkdir(parents=True)
    create(tmp_path / "runs" / "1" / RECORD, {"privacy": facts}).close()
    assert of_unknown_epsilon(tmp_path)


@pytest.mark.parametrize("size", [0, 3000])
def test_so_is_one_that_was_cut(tmp_path, size):
    record = tmp_path / "runs" / "1" / RECORD
    record.parent.mkdir(parents=True)
    create(record, {"privacy": {"delta": 1e-5, "noise": 2.0, "rounds": 3}}).close()
    record.write_bytes(record.read_bytes()[:size])
    assert of_unknown_epsilon(tmp_path)


def test_so_is_one_that_another_program_locks(tmp_path, monkeypatch):
    monkeypatch.setattr(database, "READER_WAITS", 0.01)
    record = tmp_path / "runs" / "1" / RECORD
    record.parent.mkdir(parents=True)
    create(record, {"privacy": {"delta": 1e-5, "noise": 2.0, "rounds": 3}}).close()
    with closing(sqlite3.connect(record, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        assert of_unknown_epsilon(tmp_path)


def test_old_records_that_others_lock_are_not_waited_for(tmp_path, monkeypatch):
    """The last run may be at work, and its record is free in a moment."""
    waited = []
    connect = sqlite3.connect

    def noted(*given, timeout, **told):
        waited.append(timeout)
        return connect(*given, timeout=timeout, **told)

    for name in ("9", "10", "11"):
        record = tmp_path / "runs" / name / RECORD
        record.parent.mkdir(parents=True)
        create(record, {"privacy": None}).close()
    monkeypatch.setattr(database.sqlite3, "connect", noted)
    assert costs_of_runs(tmp_path) == []
    assert waited == [0.2, 0.2, database.READER_WAITS]


def of_unknown_epsilon(folder):
    """Whether run 1, the only one, is told as one of which nothing is known."""
    (one,) = costs_as_json(costs_of_runs(folder))["runs"]
    assert earlier_costs(folder, parse({**content("fedavg"), "privacy": NOISE})[0]) == (
        "the epsilon of this run is added to that of 1 run with noise: of unknown epsilon run 1, "
        "whose record cannot be read"
    )
    return one == {"run": "1", "epsilon": None, "delta": None}
