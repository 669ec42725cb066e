"""Scores against costs, with the front of those that none beats in both (Pareto).

Rows have "cost" and "value"; ``mark_front`` adds "front".
"""

import math
from collections.abc import Sequence
from typing import Any

import altair as alt

from fedkin.core.measures import measure_named
from fedkin.report import formatting
from fedkin.report.charts.base import ROWS, Figure, cycled, ends_of_axis, figure, measured_axis
from fedkin.report.charts.end_labels import SPREAD, first_line, spread_positions, texts, wrapped

HEIGHT = 300
MARGIN = 0.06  # of the axis, below and above the points
NEAR = 0.2  # of the axis: points whose names may lie upon each other


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


def against(
    base: alt.Chart,
    cost: str,
    measure: str,
    costs: Sequence[float],
    unit: str = "",
    domain: Sequence[float] | None = None,
    title: str = "",
) -> alt.Chart:
    """The chart with costs to the right, which may be 0 (local sends nothing), and the mean test
    score upwards.

    Args:
        base: A chart of rows with "cost" and "value".
        cost: The title of the costs.
        measure: The name of the measure.
        costs: All that may be drawn: they decide whether the axis is a logarithmic one.
        unit: Of the costs, as "B".
        domain: The ends of the upward axis; None: those of the values.
        title: Of the upward axis; "": that it is a mean.

    Returns:
        The chart with both axes.
    """
    x = alt.X("cost:Q", title=cost, scale=_scale(costs), axis=_axis(costs, unit))
    y = alt.Y(
        "value:Q",
        title=title or f"mean test {formatting.label(measure)}",
        scale=alt.Scale(zero=False) if domain is None else alt.Scale(domain=domain, nice=False),
        axis=measured_axis(measure),
    )
    chart: alt.Chart = base.encode(x=x, y=y)
    return chart


def place(cost: float, costs: Sequence[float]) -> float:
    """Where a cost is drawn.

    Args:
        cost: One of them.
        costs: All that are drawn.

    Returns:
        From 0 at the left end to 1 at the right one.
    """
    small = _least(costs) if _far_apart(costs) else 0.0
    on_axis = (lambda value: math.log1p(value / small)) if small else float
    return float(on_axis(cost) / (on_axis(max(costs)) or 1.0))


def _least(costs: Sequence[float]) -> float:
    """The least cost that is one; half of it is the unit of a logarithmic axis that has a 0."""
    return min((cost for cost in costs if cost > 0), default=1.0) / 2


def _far_apart(costs: Sequence[float]) -> bool:
    """Whether the largest cost is ten times the least or more: then a plain axis shows few."""
    return max(costs, default=0.0) >= 20 * _least(costs)


def _scale(costs: Sequence[float]) -> alt.Scale:
    if not _far_apart(costs):
        return alt.Scale(type="linear", zero=True, nice=False)
    return alt.Scale(type="symlog", constant=_least(costs), zero=True, nice=False)


def _axis(costs: Sequence[float], unit: str) -> alt.Axis:
    """Round numbers: 0, 1 MB, 10 MB, …; those between where these are few."""
    label = "format(datum.value, '.3~s')"
    if unit:  # 10 MB: the prefix goes with the unit
        label = f"replace({label}, regexp('([A-Za-zµ]?)$'), ' $1{unit}')"
    if not _far_apart(costs):
        return alt.Axis(labelExpr=label, tickCount=5)
    first, last = math.ceil(math.log10(2 * _least(costs))), math.floor(math.log10(max(costs)))
    steps = (1,) if last - first >= 2 else (1, 3)
    marks = [step * 10.0**power for power in range(first - 1, last + 1) for step in steps]
    shown = [0.0, *(mark for mark in marks if mark >= 2 * _least(costs))]
    return alt.Axis(labelExpr=label, values=shown, labelOverlap="greedy", grid=len(shown) < 9)


def pareto(rows: list[dict[str, Any]], measure: str) -> Figure | None:
    """Final score against all bytes sent, and the front of those that none beats in both.

    Args:
        rows: With "run", "like" (whose colour it has), "method", "cost" and "value", and those of
            a mean over seeds with "low" and "high"; changed in place.
        measure: The name of the measure.

    Returns:
        A figure; None of fewer than two rows.
    """
    if len(rows) < 2:
        return None
    mark_front(rows, measure_named(measure).higher)
    costs = [row["cost"] for row in rows]
    domain = list(ends_of_axis(rows, MARGIN))
    colours = cycled(list(dict.fromkeys(row["like"] for row in rows)))
    banded = any("low" in row for row in rows)
    upward = f"mean test {formatting.label(measure)}{SPREAD if banded else ''}"
    base = against(alt.Chart(ROWS), "bytes sent (unicast)", measure, costs, "B", domain, upward)
    drawn = base.transform_filter("!datum.end").encode(
        color=alt.Color("like:N", scale=colours, legend=None)
    )
    told = ["run:N", "method:N", "value:Q", alt.Tooltip("cost:Q", title="bytes", format=".4s")]
    dots = drawn.mark_point(filled=True, size=90, opacity=0.8).encode(tooltip=told)
    names = base.transform_filter("datum.end").encode(
        color=alt.Color("like:N", scale=colours, legend=None)
    )
    layers = [dashed_front(base), dots, texts(names, 8)]
    if banded:
        bars = drawn.transform_filter("isValid(datum.low)").mark_rule(strokeWidth=1.5)
        layers.insert(
            1,
            bars.encode(y=alt.Y("low:Q", title=upward), y2="high:Q"),
        )
    point = (
        "a finished run"
        if not banded
        else "a mean over seeds, with a bar of ± their sample standard deviation"
    )
    if banded and any("low" not in row for row in rows):
        point += "; one without a bar is of one run"
    note = f"A point is {point}. Dashed: those that no other beats in both (Pareto)."
    title = f"Test {formatting.label(measure)} against bytes"
    shown = [*rows, *_names(rows, costs, domain)]
    return figure("pareto", title, note, alt.layer(*layers), shown, HEIGHT)


def _names(
    rows: Sequence[dict[str, Any]], costs: Sequence[float], domain: Sequence[float]
) -> list[dict[str, Any]]:
    """The names beside the points; those of points that cost about the same, none upon another."""
    scale = HEIGHT / (domain[1] - domain[0])
    shown = [wrapped(str(row["run"])) for row in rows]
    wanted = [(row["value"] - domain[0]) * scale for row in rows]
    places = name_positions(rows, costs, wanted, HEIGHT, NEAR, shown)
    return [
        {"end": True, **{key: row[key] for key in ("run", "like", "cost")}}
        | {"text": text, "value": domain[0] + first_line(at, text) / scale}
        for row, text, at in zip(rows, shown, places, strict=True)
    ]


def name_positions(
    rows: Sequence[dict[str, Any]],
    costs: Sequence[float],
    wanted: Sequence[float],
    height: float,
    near: float,
    names: Sequence[str] = (),
) -> list[float]:
    """Where names stand beside points: those of points that cost about the same, none upon another.

    Args:
        rows: Of the points, with "cost".
        costs: All that are drawn.
        wanted: Where each name would stand by itself, in pixels above the lower end of the chart.
        height: Of the chart, in pixels.
        near: Part of the axis of costs within which names may meet.
        names: As ``wrapped`` gives them; (): each of one line.

    Returns:
        The middle of each name, in pixels above the lower end, in the order of the rows.
    """
    found = [0.0] * len(rows)
    order = sorted(range(len(rows)), key=lambda k: rows[k]["cost"])
    while order:
        first = place(rows[order[0]]["cost"], costs)
        group = [k for k in order if place(rows[k]["cost"], costs) - first < near]
        order = order[len(group) :]
        lines = [names[k] if names else "" for k in group]
        for k, at in zip(
            group, spread_positions([wanted[k] for k in group], lines, height), strict=True
        ):
            found[k] = at
    return found


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
