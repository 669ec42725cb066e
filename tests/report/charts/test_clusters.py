"""Clients that change clusters."""

import numpy as np
import pytest

from fedkin.report.charts.clusters import NOT_YET, OTHERS, flow_of, ribbons
from fedkin.report.matrix import Matrix

NAN = np.nan


def test_a_flow_loses_nobody() -> None:
    values = np.array([[0, 0, 1, NAN], [0, 1, 1, NAN], [NAN, 1, 1, 0]])
    flow = flow_of(Matrix([1, 2, 5], [0, 1, 2, 3], values))
    assert flow.names == ["0", "1", NOT_YET]
    assert flow.level.tolist() == [[0, 0, 1, 2], [0, 1, 1, 2], [0, 1, 1, 0]]  # who is away stays
    links, nodes, middle = ribbons(flow)
    assert [
        sum(node["clients"] for node in nodes if node["between"] == f"round {at}")
        for at in (1, 2, 5)
    ] == [4] * 3
    begins = {
        (row["cluster"], row["to"], row["clients"])
        for row in links
        if row["between"] == "rounds 1 to 2"
    }
    assert begins == {("0", "0", 1), ("0", "1", 1), ("1", "1", 1), (NOT_YET, NOT_YET, 1)}
    assert middle[0].tolist() == [1.0, 2.5, 3.5]
    assert all(row["high"] - row["low"] == pytest.approx(row["clients"]) for row in links)
    starts = {
        (row["low"], row["high"])
        for row in links
        if row["between"] == "rounds 1 to 2" and row["x"] < 0.1
    }
    assert starts == {(0, 1), (1, 2), (2, 3), (3, 4)}  # beside each other


def test_many_clusters_are_seven_and_the_others() -> None:
    values = np.array([[n % 12 if n < 24 else 0 for n in range(60)]] * 2, dtype=float)
    flow = flow_of(Matrix([1, 2], list(range(60)), values))
    assert flow.names == [*map(str, range(7)), OTHERS]
    assert np.bincount(flow.level[0])[-1] == 10
