"""What is measured of a finished run for a table."""

import sqlite3
from types import SimpleNamespace

import numpy as np
import pytest

from fedkin.report.summary import summary
from fedkin.reproduce import measures as module
from fedkin.reproduce.cost import Cost
from fedkin.reproduce.measures import (
    CLIENT,
    MEASURES,
    measured,
    of_clients,
    recovery,
    recovery_errors,
    sd_of_means,
)
from tests.awkward import SHUFFLED, record
from tests.report import records_for_tests


@pytest.fixture
def folder(tmp_path):
    spec = {"model": {"map": {"1": "dnn", "2": "cnn"}}}
    return record(tmp_path / "run", spec=spec)


def test_numbers_are_those_of_the_summary(folder) -> None:
    found = summary(folder)
    told = measured(
        folder,
        [
            "accuracy",
            "weighted accuracy",
            "sd over clients",
            "global accuracy",
            "highest",
            "rounds",
        ],
    )
    final = found["accuracy"]["personal"]["final"]
    assert told["accuracy"] == 100 * final["mean"]
    assert told["weighted accuracy"] == 100 * final["weighted"] != told["accuracy"]
    assert told["sd over clients"] == 100 * final["std"]
    assert told["global accuracy"] == 100 * found["accuracy"]["global"]["final"]["mean"]
    best = found["accuracy"]["personal"]["best_on_test"]
    assert told["highest"] == 100 * best["mean"]
    assert told["rounds"] == 3
    more = measured(folder, ["scalars", "minutes"])
    assert more["scalars"] == found["communication"]["paper"]["scalars"]["total"]
    assert more["minutes"] == found["seconds"]["total"] / 60


def test_the_sd_over_clients_of_their_means_over_seeds_is_not_the_mean_of_the_sds(
    monkeypatch, tmp_path
) -> None:
    def run(name: str, *last: float | None):
        monkeypatch.setitem(records_for_tests.TEST, 3, list(last))
        return records_for_tests.write(tmp_path / name)

    folders = [run("one", 0.5, 0.7, 0.9), run("other", 0.9, 0.7, 0.7)]
    one, other = map(of_clients, folders)
    assert list(one.values()) == pytest.approx([50.0, 70.0, 90.0])
    assert all(name.startswith(CLIENT) for name in one)
    assert sd_of_means([one, other]) == pytest.approx(100 * np.std([0.7, 0.7, 0.8]))
    own = [measured(each, ["sd over clients"])["sd over clients"] for each in folders]
    assert sd_of_means([one, other]) < np.mean(own)
    assert sd_of_means([{**one, "accuracy": 70.0}]) == pytest.approx(own[0])
    assert sd_of_means([]) is None
    assert sd_of_means([one, {"accuracy": 70.0}]) is None  # a run that tells no client's


def test_processor_minutes_are_those_that_were_kept_beside_the_run(monkeypatch, folder) -> None:
    assert measured(folder, ["processor minutes"]) == {"processor minutes": None}
    monkeypatch.setattr(module, "cost", lambda folder: Cost(90.0))
    assert measured(folder, ["processor minutes"]) == {"processor minutes": 1.5}


def test_the_round_of_the_highest_weighted_mean_need_not_have_the_highest_plain_one(
    monkeypatch, tmp_path
) -> None:
    # Tested are 10, 30 and 60 samples. By the plain mean round 1 is best (0.8; weighted 0.76).
    monkeypatch.setitem(records_for_tests.TEST, 2, [0.5, 0.7, 0.95])
    told = measured(records_for_tests.write(tmp_path / "run"), ["highest", "highest weighted"])
    assert told["highest"] == pytest.approx(80.0)
    assert told["highest weighted"] == pytest.approx(83.0)  # round 2: 0.05 + 0.21 + 0.57


def test_the_highest_weighted_mean_of_a_panel_is_over_the_panel_alone(
    monkeypatch, tmp_path
) -> None:
    monkeypatch.setitem(records_for_tests.TEST, 1, [1.0, 0.6, 0.77])
    panel = {**records_for_tests.FACTS["spec"]["run"], "evaluate": "panel:2"}
    spec = {**records_for_tests.FACTS["spec"], "run": panel}
    folder = records_for_tests.write(tmp_path / "run", spec=spec)
    with sqlite3.connect(folder / "run.db") as database:  # the finish alone is of everybody
        database.execute("DELETE FROM metrics WHERE client = 0 AND round < 3")
        database.execute("UPDATE metrics SET accuracy = 1 WHERE client = 0")
    told = measured(folder, ["highest weighted"])
    assert told["highest weighted"] == pytest.approx(100 * (0.6 * 30 + 0.77 * 60) / 90)


def test_who_holds_which_model(folder) -> None:
    kinds = [member.architecture for member in SHUFFLED]
    told = measured(folder, ["first model", "second model", "third model", "largest"])
    assert told["first model"] == pytest.approx(100 * kinds.count("dnn") / 6)
    assert told["second model"] == pytest.approx(100 * kinds.count("cnn") / 6)
    assert told["third model"] is None
    assert told["largest"] == max(one.train + one.val + one.test for one in SHUFFLED)


def test_notes_of_clients_and_of_the_federation() -> None:
    found = {"extras": {"imitation": {"a": 0.2, "b": 0.4}, "stability": {"federation": 0.75}}}
    assert MEASURES["imitation"][1](None, found) == pytest.approx(0.3)
    assert MEASURES["stability"][1](None, found) == 0.75
    assert MEASURES["temperature"][1](None, found) is None
    assert MEASURES["imitation"][1](None, {"extras": {"imitation": {"federation": 1}}}) is None


def test_memberships_are_compared_in_their_best_order(monkeypatch) -> None:
    truth = np.array([[0.9, 0.1, 0.0], [0.2, 0.3, 0.5]])
    learnt = {"a": [0.1, 0.0, 0.9], "b": [0.3, 0.4, 0.3]}  # components 1, 2, 0
    population = SimpleNamespace(truth={"alpha": truth})
    parts = SimpleNamespace(population=population)
    monkeypatch.setattr(module, "load", lambda folder, **_: (None, parts, None))
    errors = recovery_errors(None, {"extras": {"membership": learnt}})
    assert errors.tolist() == pytest.approx([0.0, 0.1])
    assert recovery(None, {"extras": {"membership": learnt}}) == pytest.approx(0.05)
    assert recovery(None, {"extras": {}}) is None
    population.truth = {}
    assert recovery_errors(None, {"extras": {"membership": learnt}}) is None
