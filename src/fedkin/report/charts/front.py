"""Scores against costs, with the front of those that none beats in both (Pareto).

Rows have "cost" and "value"; ``mark_front`` adds "front".
"""

from collections.abc import Sequence
from typing import Any

import altair as alt

from fedkin.report import formatting
from fedkin.report.charts.base import measured_axis


def mark_front(rows: Sequence[dict[str, Any]], higher: bool) -> None:
    """Say of each row whether it is on the front of them.

    Args:
        rows: Of one kind; changed in place.
        higher: Whether a higher value is better.
    """
    sign = 1 if higher else -1
    for row in rows:
        beaten = (
            one["cost"] <= row["cost"] and sign * one["value"] > sign * row["value"] for one in rows
        )
        cheaper = (one["cost"] < row["cost"] and one["value"] == row["value"] for one in rows)
        row["front"] = not any(beaten) and not any(cheaper)


def against(base: alt.Chart, cost: str, measure: str) -> alt.Chart:
    """The chart with costs to the right, which may be 0 (local sends nothing), and the mean test
    score upwards.

    Args:
        base: A chart of rows with "cost" and "value".
        cost: The title of the costs.
        measure: The name of the measure.

    Returns:
        The chart with both axes.
    """
    x = alt.X(
        "cost:Q",
        title=cost,
        scale=alt.Scale(type="symlog", constant=1000, nice=False),
        axis=alt.Axis(format=".2~s", tickCount=5),
    )
    y = alt.Y(
        "value:Q",
        title=f"mean test {formatting.label(measure)}",
        scale=alt.Scale(zero=False),
        axis=measured_axis(measure),
    )
    chart: alt.Chart = base.encode(x=x, y=y)
    return chart


def dashed_front(base: alt.Chart) -> alt.Chart:
    """The line through the front.

    Args:
        base: A chart whose rows say whether they are on the front.

    Returns:
        The line.
    """
    on_it = base.transform_filter("datum.front")
    chart: alt.Chart = on_it.mark_line(color="#777", strokeDash=[4, 3], interpolate="step-after")
    return chart
