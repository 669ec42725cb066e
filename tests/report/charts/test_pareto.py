"""Scores against costs: those that none beats in both."""

import altair as alt
import pytest

from fedkin.report.charts.base import ROWS
from fedkin.report.charts.pareto import against, dashed_front, mark_front, pareto, place


def front(points, higher=True):
    rows = [{"cost": cost, "value": value} for cost, value in points]
    mark_front(rows, higher)
    return [row["front"] for row in rows]


@pytest.mark.parametrize(
    ("points", "found"),
    [
        ([(0, 0.5), (10, 0.7), (20, 0.6), (30, 0.9)], [True, True, False, True]),
        ([(10, 0.7), (5, 0.7)], [False, True]),  # as good, and cheaper
        ([(5, 0.7), (5, 0.7)], [True, True]),  # nobody beats its equal
        ([(5, 0.7), (5, 0.8)], [False, True]),  # as cheap, and better
    ],
)
def test_who_is_beaten_in_both_is_not_on_it(points, found) -> None:
    assert front(points) == found
    assert front([(cost, -value) for cost, value in points], higher=False) == found


def test_a_cost_of_nothing_can_be_drawn_and_shares_are_per_cent() -> None:
    points = alt.Chart(ROWS).mark_point()
    spec = against(points, "bytes sent", "accuracy", [0, 1, 50]).to_dict(validate=False)
    assert spec["encoding"]["x"]["scale"] == {
        "type": "symlog",
        "constant": 0.5,
        "zero": True,
        "nice": False,
    }
    assert spec["encoding"]["x"]["title"] == "bytes sent"
    assert spec["encoding"]["y"]["axis"]["format"] == "~%"
    plain = against(points, "bytes sent", "rmse", [0, 1, 50]).to_dict(validate=False)
    assert "format" not in plain["encoding"]["y"].get("axis", {})
    line = dashed_front(alt.Chart(ROWS)).to_dict(validate=False)
    assert line["transform"] == [{"filter": "datum.front"}]


@pytest.mark.parametrize(
    ("costs", "marks"),
    [
        ([0, 38.6e6, 41.7e6], None),  # a plain axis
        ([0, 0], None),
        ([0, 2e6, 41.7e6], [0, 3e6, 1e7, 3e7]),
        ([5e3, 2e6, 41.7e6], [0, 1e4, 1e5, 1e6, 1e7]),
    ],
)
def test_costs_are_told_in_round_numbers(costs, marks) -> None:
    spec = against(alt.Chart(ROWS).mark_point(), "b", "accuracy", costs, "B").to_dict(
        validate=False
    )
    axis, scale = spec["encoding"]["x"]["axis"], spec["encoding"]["x"]["scale"]
    assert scale["type"] == ("linear" if marks is None else "symlog")
    shown = [mark for mark in axis.get("values", []) if mark <= max(costs)]
    assert shown == ([] if marks is None else pytest.approx(marks))
    assert "$1B" in axis["labelExpr"]


def test_names_of_points_that_cost_about_the_same_are_apart() -> None:
    rows = [
        {"run": name, "like": name, "method": name, "cost": cost, "value": value}
        for name, cost, value in [("a", 0, 0.5), ("b", 40, 0.5), ("c", 41, 0.5), ("d", 41, 0.9)]
    ]
    shown = pareto(rows, "accuracy").spec["datasets"]["rows"]
    ends = {row["run"]: row["value"] for row in shown if "text" in row}
    assert ends["a"] == pytest.approx(0.5)
    assert abs(ends["b"] - ends["c"]) > 0.01
    assert place(0, [0, 1, 50]) == 0
    assert place(50, [0, 1, 50]) == 1
