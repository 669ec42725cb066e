"""Scores against costs: those that none beats in both."""

import altair as alt
import pytest

from fedkin.report.charts.base import ROWS
from fedkin.report.charts.front import against, dashed_front, mark_front


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
    spec = against(alt.Chart(ROWS).mark_point(), "bytes sent", "accuracy").to_dict(validate=False)
    assert spec["encoding"]["x"]["scale"]["type"] == "symlog"
    assert spec["encoding"]["x"]["title"] == "bytes sent"
    assert spec["encoding"]["y"]["axis"]["format"] == "~%"
    plain = against(alt.Chart(ROWS).mark_point(), "bytes sent", "rmse").to_dict(validate=False)
    assert "format" not in plain["encoding"]["y"].get("axis", {})
    line = dashed_front(alt.Chart(ROWS)).to_dict(validate=False)
    assert line["transform"] == [{"filter": "datum.front"}]
