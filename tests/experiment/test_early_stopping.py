"""[run] patience: when training ends, and that everything afterwards knows which round was last."""

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fedkin.core.errors import FedkinError
from fedkin.engine.op import Task, TaskResult
from fedkin.experiment.early_stopping import EarlyStopping
from fedkin.experiment.resume import resume
from fedkin.experiment.run import run
from fedkin.experiment.training import Interrupted
from fedkin.export.opened_run import Opened
from fedkin.runs.database import read_only
from fedkin.runs.record import FEDERATION, Record
from tests.engine.small import outcome, small

SIZES = {0: 3, 1: 1}
LATE = {"run__rounds": 40, "run__patience": 2, "train__lr": 2.0, "run__participation": 1.0}


def record(round: int, *right: float, phase: str = "round", **measures: float) -> Record:
    """A round in which clients 0 and 1 were right so often on their validation samples."""
    scores = {
        k: {"personal": {"val": (2.0 - value, value), "test": (9.0, 0.5)}}
        for k, value in enumerate(right)
    }
    named = {k: {"personal": {"val": dict(measures)}} for k in range(len(right))}
    return Record(round, phase, [], [], {}, scores, {}, {}, {}, named if measures else {})


def judged(measure: str, *records: Record, patience: int | None = 2) -> EarlyStopping:
    stopping = EarlyStopping(patience, measure, SIZES)
    for one in records:
        stopping.add(one)
    return stopping


def test_the_mean_is_weighted_by_validation_samples():
    # ¾ · 0.4 + ¼ · 0.8 = 0.5, then ¾ · 0.44 + ¼ · 0.6 = 0.48 though the plain mean falls less
    stopping = judged("accuracy", record(1, 0.4, 0.8), record(2, 0.44, 0.6))
    assert (stopping.round, stopping.waited) == (1, 1)
    assert math.isclose(stopping.best, 0.5)
    assert not stopping.over


def test_equal_is_not_better_and_rounds_without_evaluation_do_not_count():
    stopping = judged("accuracy", record(1, 0.5, 0.5), record(2), record(3, 0.5, 0.5))
    assert stopping.waited == 1
    stopping.add(record(4, 0.4, 0.4))
    assert stopping.over
    assert stopping.remarks(9) == [
        "training ended after round 4 of 9: validation accuracy was best in round 1 (0.5), and "
        "run.patience = 2"
    ]
    assert not stopping.remarks(4)  # it was the last round anyway
    assert stopping.last_round(9) == 4
    assert judged("accuracy", record(1, 0.5, 0.5)).last_round(9) == 9


def test_a_measure_of_which_less_is_better():
    rounds = [record(k, 0.5, 0.5, brier=value) for k, value in enumerate((1.5, 1.0, 1.25), 1)]
    stopping = judged("brier", *rounds)
    assert (stopping.round, stopping.best, stopping.waited) == (2, 1.0, 1)


def test_log_loss_is_the_loss_that_every_round_records():
    rounds = [record(k, right) for k, right in enumerate((0.1, 0.3, 0.2), 1)]  # loss: 2 - right
    stopping = judged("log_loss", *rounds)
    assert (stopping.measure, stopping.round, stopping.best, stopping.waited) == (
        "log_loss",
        2,
        1.7,
        1,
    )


def test_a_run_by_log_loss_ends_by_its_loss(tmp_path: Path):
    folder = run(small("fedavg", **LATE, run__measure="log_loss"), tmp_path / "run")
    with read_only(folder) as database:
        (said,) = [one for one in database.facts()["said"] if "run.patience = 2" in one]
    assert "validation log_loss was best" in said


def test_a_named_measure_is_not_replaced_where_the_first_evaluation_does_not_define_it():
    rounds = [record(1, 0.5, 0.5), record(2, 0.4, 0.4, auc=0.6), record(3, 0.3, 0.3, auc=0.7)]
    stopping = judged("auc", *rounds)
    assert (stopping.measure, stopping.round, stopping.best) == ("auc", 3, 0.7)
    never = judged("auc", rounds[0], rounds[0]._replace(round=2))
    assert never.remarks(9) == [
        "training ended after round 2 of 9: validation auc had no value in any round, and "
        "run.patience = 2"
    ]
    assert judged("auto", rounds[0]).measure == "accuracy"
    assert judged("auto", rounds[1]).measure == "auc"


def test_where_nothing_has_a_number_it_waits():
    stopping = judged("loss", *(record(k, math.nan, math.inf) for k in (1, 2)))
    assert stopping.over
    assert not judged("accuracy", record(0, 0.1, 0.1, phase="setup"), record(1, 0.1, 0.1)).waited


def test_a_round_in_which_a_client_diverged_is_no_better_one():
    def evaluated(round: int, losses: tuple[float, float], **measures: float) -> Record:
        scores = {k: {"personal": {"val": (loss, 0.5)}} for k, loss in enumerate(losses)}
        named = {k: {"personal": {"val": dict(measures)}} for k in range(2)}
        return Record(round, "round", [], [], {}, scores, {}, {}, {}, named)

    rounds = [
        evaluated(1, (1.0, 3.0), rmse=3.0),
        evaluated(2, (1.0, math.nan), rmse=1.0),  # the mean of those that are left is smaller
        evaluated(3, (1.0, 1e40), rmse=0.5),  # no honest loss either
    ]
    for measure in ("rmse", "loss", "accuracy"):
        stopping = judged(measure, *rounds)
        assert (stopping.round, stopping.waited) == (1, 2), measure
    # a measure that is not defined has no say, while the loss is a number
    only = rounds[0]._replace(round=2, measures={0: {"personal": {"val": {"rmse": 2.0}}}})
    assert judged("rmse", rounds[0], only).round == 2
    # and who has no validation samples says nothing of it
    stopping = EarlyStopping(2, "loss", {0: 3, 1: 0})
    for one in (rounds[0], evaluated(2, (0.5, math.nan))):
        stopping.add(one)
    assert stopping.round == 2
    # the loss of a federation's sum is none where that of one client is none
    stopping = EarlyStopping(2, "accuracy", {FEDERATION: 1, 0: 3})
    for at, loss, right in ((1, 1.0, 0.5), (2, math.nan, 0.9)):
        summed = {FEDERATION: {"personal": {"val": (loss, right)}}}
        stopping.add(Record(at, "round", [], [], {}, summed, {}, {}, {}))
    assert (stopping.round, stopping.waited) == (1, 1)


@pytest.mark.parametrize("none", [None])
def test_without_patience_nothing_ends(none: Any):
    rounds = [record(k, 0.1, 0.1) for k in range(1, 30)]
    assert not judged("accuracy", *rounds, patience=none).over


def ended(folder: Path) -> tuple[int, int, bool]:
    """(the last round that trained, the last row's round, whether it is finished)."""
    with read_only(folder) as database:
        return database.last_trained(), database.last_round(), database.facts()["finished"]


def test_a_run_ends_early_and_its_models_say_after_which_round(tmp_path: Path):
    folder = run(small("fedavg", **LATE), tmp_path / "run")
    trained, last, finished = ended(folder)
    assert finished
    assert trained < 40
    assert last == 41  # the finish keeps its number
    assert Opened(folder).round == trained
    with read_only(folder) as database:
        (said,) = [one for one in database.facts()["said"] if "run.patience = 2" in one]
    assert said.startswith(f"training ended after round {trained} of 40: validation accuracy")


def test_the_finish_has_the_rate_of_the_round_after_the_last_one_that_trained(tmp_path: Path):
    # a milestone after training ended says nothing, neither of the finish nor of later views
    even, cut = (
        run(small("finetune", **LATE, **later), tmp_path / str(len(later)))
        for later in ({}, {"train__milestones": [40], "train__decay": 0.001})
    )
    trained = ended(even)[0]
    assert ended(cut) == ended(even) == (trained, 41, True)
    assert trained < 40
    assert outcome(cut) == outcome(even)


def test_who_finishes_is_told_which_round_was_the_last_that_trained(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    folder = run(small("finetune", run__rounds=4, train__milestones=[3]), tmp_path / "run")
    coordinator, asked = Opened(folder).coordinator, set()

    def ask(op: str, round: int, orders: list[Task]) -> Iterator[TaskResult]:
        asked.update((op, round, order.trained) for order in orders)
        return iter(())

    monkeypatch.setattr(coordinator.transport, "ask", ask)
    coordinator.finish(5, 2)
    assert asked == {("finish", 5, 2), ("evaluate_all", 5, 2)}
    asked.clear()
    coordinator.finish(5, 4)  # training went on to its planned end
    assert asked == {("finish", 5, None), ("evaluate_all", 5, None)}


def test_an_interrupted_run_ends_where_it_would_have(tmp_path: Path):
    whole = run(small("ditto", **LATE), tmp_path / "whole")
    last, folder = ended(whole)[0], tmp_path / "cut"

    def stop(one: Record) -> None:
        if one.round == last - 1:  # one evaluation without a better score is behind it
            raise KeyboardInterrupt

    with pytest.raises(Interrupted):
        run(small("ditto", **LATE), folder, progress=stop)
    resume(folder)
    assert ended(folder)[0] == last < 40
    assert outcome(folder) == outcome(whole)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"run__evaluate": "participants"}, "run.evaluate = 'participants' evaluates others"),
        ({"split__val": 0.0}, "no client has validation samples"),
    ],
)
def test_what_patience_cannot_go_by(tmp_path: Path, settings: dict[str, Any], said: str):
    with pytest.raises(FedkinError, match=said):
        run(small("fedavg", run__patience=3, **settings), tmp_path / "run")
