"""Clients that joined a run afterwards: scores by the number of labelled samples."""

from types import SimpleNamespace

import pytest

from fedkin.report.newcomers import by_labels, newcomers_measure, unseen, value_of


def one(client, asked, accuracy, loss=1.0, rmse=None, train=8, val=2, test=10):
    measures = {} if rmse is None else {"personal": {"test": {"rmse": rmse}}}
    scores = {"personal": {"test": {"accuracy": accuracy, "loss": loss}}}
    told = {"client": client, "asked": asked, "train": train, "val": val, "test": test}
    return {**told, "scores": scores, "measures": measures, "rounds": 3}


EACH = [
    one("b", 5, 0.5, 2.0, train=4, val=1),
    one("a", 5, 0.7, 4.0, train=4, val=1, test=30),
    one("b", None, 0.8, train=20, val=6),
    one("a", None, None, train=40, val=10),
    one("b", 20, 0.6, train=15, val=5),
]


def of(each):
    return unseen(SimpleNamespace(facts={"newcomers": each}))


def test_means_are_by_the_labels_that_were_asked_for() -> None:
    found = of(EACH)
    assert found["clients"] == 2
    few, more, whole = found["by_labels"]
    assert [part["asked"] for part in (few, more, whole)] == [5, 20, None]
    assert few["labels"] == 5
    assert few["accuracy"]["mean"] == pytest.approx(0.6)
    assert few["accuracy"]["weighted"] == pytest.approx((0.5 * 10 + 0.7 * 30) / 40)
    assert few["loss"]["worst_decile"] == 4.0  # of losses the worst is the highest
    assert few["accuracy"]["worst_decile"] == 0.5
    assert whole["labels"] == 38
    assert (whole["accuracy"]["clients"], whole["accuracy"]["without"]) == (1, 1)
    assert found["each"] == EACH


def test_a_run_that_was_stopped_between_joins_has_no_row_of_joins_that_are_to_come() -> None:
    assert [part["asked"] for part in of(EACH[:2])["by_labels"]] == [5]


def test_without_newcomers_there_is_nothing() -> None:
    assert of([]) is None
    assert of(None) is None
    assert by_labels(None) is None


def test_numbers_are_told_as_accuracy_or_as_errors() -> None:
    assert newcomers_measure(of(EACH)) == "accuracy"
    regression = [one("a", 5, None, 4.0, rmse=2.5), one("a", None, None)]
    assert newcomers_measure(of(regression)) == "rmse"
    assert value_of(regression[0], "rmse") == 2.5
    older = [one("a", 5, None, 4.0), one("a", None, None)]
    assert newcomers_measure(of(older)) == "loss"
    assert value_of(older[0], "rmse") is None


def test_the_chart_has_a_line_a_client() -> None:
    drawn = by_labels(of(EACH))
    assert drawn.name == "unseen"
    assert "accuracy" in drawn.title
    rows = drawn.spec["datasets"]["rows"]
    assert [(row["client"], row["labels"], row["value"]) for row in rows] == [
        ("b", 5, 0.5),
        ("a", 5, 0.7),
        ("b", 26, 0.8),
        ("b", 20, 0.6),
    ]
    assert by_labels(of([one("a", k, None, None) for k in (5, None)])) is None
