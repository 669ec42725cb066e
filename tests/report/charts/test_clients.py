"""How scores are distributed, and the data that clients have."""

import numpy as np

from fedkin.report.charts.clients import FEW, classes_by_client, histogram
from fedkin.report.matrix import Matrix
from fedkin.report.records import Client


def clients(histograms: list[list[int]]) -> dict[int, Client]:
    return {k: Client(k, f"s{9 - k}", "mlr", sum(h), 1, 1, h) for k, h in enumerate(histograms)}


def test_a_histogram_needs_enough_clients_that_have_a_score() -> None:
    values = np.array([[0.5, 0.25, np.nan, 1.0, 0.0, 0.125]])
    scored = Matrix([7], [3, 0, 1, 5, 2, 4], values)
    found = histogram({"personal": scored}, "accuracy", clients([[1]] * 6))
    assert found is not None
    rows = found.spec["datasets"]["rows"]
    assert len(rows) == FEW
    assert {row["client"]: row["value"] for row in rows}["s4"] == 1.0
    fewer = Matrix([7], [3, 0], np.array([[0.5, 0.25]]))
    assert histogram({"personal": fewer}, "accuracy", clients([[1]] * 6)) is None


def test_every_count_is_drawn_where_it_belongs() -> None:
    found = classes_by_client(list(clients([[0, 7], [31, 2]]).values()), ("no", "yes"))
    assert found is not None
    drawn = {
        (row["client"], row["label"]): row["samples"] for row in found.spec["datasets"]["rows"]
    }
    assert {place: n for place, n in drawn.items() if n} == {
        ("s9", "yes"): 7,
        ("s8", "no"): 31,
        ("s8", "yes"): 2,
    }
    assert classes_by_client([], ()) is None


def test_so_many_classes_so_high() -> None:
    """Bubbles need more room than cells, and 31 classes or more are narrow rows."""
    for classes, height in ((3, 120), (8, 176), (30, 600), (31, 372), (45, 540), (60, 600)):
        found = classes_by_client(list(clients([[1] * classes, [2] * classes]).values()), ())
        assert found is not None
        assert found.spec["height"] == height, classes
    many = [[1, 2, 3] * 4 for _ in range(61)]  # more clients than have bubbles
    found = classes_by_client(list(clients(many).values()), ())
    assert found is not None
    assert found.spec["height"] == 18 * 12
