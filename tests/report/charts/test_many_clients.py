"""The final scores of more clients than a page can hold."""

import numpy as np

from fedkin.report.charts.many_clients import BINS, POINTS, counted, quantiles
from fedkin.report.matrix import Matrix
from fedkin.report.records import Client

NUMBERS = [9, 3, 5, 0, 7]
SCORES = np.array([[0.9, 0.2, 0.2, np.nan, 0.4]])
MATRIX = Matrix([4], NUMBERS, SCORES)
CLIENTS = {k: Client(k, f"s{k}", "mlr", 1, 1, 1, []) for k in (9, 5)}


def test_a_line_of_shares_and_the_panel_as_dots() -> None:
    drawn = quantiles({"personal": MATRIX}, "accuracy", CLIENTS, [5, 9, 0, 3], "a few")
    rows = drawn.spec["datasets"]["rows"]
    line = [row for row in rows if "client" not in row]
    assert len(line) == POINTS
    assert (line[0]["share"], line[0]["value"]) == (0, 0.2)
    assert (line[-1]["share"], line[-1]["value"]) == (1, 0.9)
    assert [row["value"] for row in line] == sorted(row["value"] for row in line)
    dots = {row["client"]: (row["share"], row["value"]) for row in rows if "client" in row}
    assert dots == {"s5": (0.3333, 0.2), "s9": (1.0, 0.9), "3": (0.0, 0.2)}  # 0 has no score
    assert "the panel (a few)" in drawn.note


def test_equal_scores_are_counted_once_each() -> None:
    drawn = counted({"personal": MATRIX}, "accuracy")
    rows = drawn.spec["datasets"]["rows"]
    bins = [row for row in rows if "clients" in row]
    assert len(bins) == BINS
    assert sum(row["clients"] for row in bins) == 4
    assert bins[0] == {"from": 0.2, "to": 0.235, "clients": 2}
    assert bins[-1]["clients"] == 1
    assert rows[-1] == {"mean": 0.425}
    assert "all 4 clients" in drawn.note
