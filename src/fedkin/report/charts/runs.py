"""Runs beside each other: over rounds and seconds, against bytes, client against client, and how
equal clients are.
"""

import json
from collections.abc import Mapping, Sequence
from itertools import accumulate, pairwise
from typing import Any

import altair as alt
import numpy as np

from fedkin.core.measures import gain_on, measure_named
from fedkin.report import formatting
from fedkin.report.charts.base import (
    GREEN,
    ORANGE,
    ROWS,
    Figure,
    Layers,
    cycled,
    figure,
    measured_axis,
    rounded,
)
from fedkin.report.charts.front import against, dashed_front, mark_front
from fedkin.report.charts.over_runs import over
from fedkin.report.comparison.run_row import Seen
from fedkin.report.matrix import among, measured
from fedkin.report.records import evenly, opened
from fedkin.report.scores import tenth
from fedkin.report.summary import of_run

POINTS = 200  # rounds of a line
TICKS = 10  # of an axis of scores: steps that are read at once
WAYS = {"across": "to the right", "up": "upwards"}
Row = dict[str, Any]


def run_figures(seen: Sequence[Seen], baseline: str) -> list[Figure]:
    """The charts of a comparison.

    Damaged runs are in none, unfinished ones only in the lines, paler.

    Args:
        seen: The runs.
        baseline: The method or the name of the run that others are held against.

    Returns:
        In the order of the page.
    """
    whole = [one for one in seen if one.finished and one.personal]
    first: dict[str, str] = {}
    for one in seen:
        first.setdefault(one.experiment, one.name)
    lines = [row for one in seen for row in _curve(one, first[one.experiment])]
    drawn: list[Figure | None] = []
    if lines:
        what = next((one.measure for one in seen if one.measure), lines[0]["measure"])
        lines = _idle_finish_last([row for row in lines if row["measure"] == what])
        drawn += [
            over(lines, "round", what),
            over(lines, "seconds", what),
            _pareto(whole, what),
            _fair(whole, what),
        ]
    drawn.append(_against(whole, baseline))
    return [figure for figure in drawn if figure is not None]


def _curve(one: Seen, like: str) -> list[Row]:
    """A run's mean over clients, round by round, with the seconds until then; of a panel's run over
    the panel, whose rounds can be compared. ``like`` is the first run of its experiment.
    """
    if one.folder is None:
        return []
    with opened(one.folder) as run:
        what, matrices = measured(run, {**of_run(run), "measure": one.measure})
        matrices = among(matrices, run.panel())
        matrix = matrices.get("personal") or next(iter(matrices.values()), None)
        times = [at for (at,) in run.rows("SELECT round FROM rounds ORDER BY round")]
        spent = accumulate(parts.get("total", 0.0) for _, parts in run.seconds())
        until = dict(zip(times, spent, strict=True))
        last = run.ended()
    if matrix is None:
        return []
    fields = {"run": one.name, "like": like, "method": one.row["method"], "measure": what}
    fields["state"] = "finished" if one.finished else "unfinished"
    bands = list(matrix.bands())
    before = rounded(bands[-2][2]) if len(bands) > 1 else None  # of the last but one
    return [
        {
            **fields,
            "finish": last is not None and at > last,
            "before": before,
            "round": at if last is None else min(at, last + 1),  # the finish has a later number
            "seconds": round(until.get(at, 0.0), 3),
            "value": rounded(mean),
        }
        for at, _, mean, _ in evenly(bands, POINTS)
    ]


def _idle_finish_last(lines: list[Row]) -> list[Row]:
    """With the finish at the last round where it changes no run's mean: ten rounds end at 10."""
    if any(row["finish"] and row["value"] != row["before"] for row in lines):
        return lines
    return [{**row, "round": row["round"] - row["finish"], "finish": False} for row in lines]


def _pareto(whole: Sequence[Seen], what: str) -> Figure | None:
    """Final score against all bytes sent, and the front of those that none beats in both."""
    rows: list[Row] = [
        {"run": one.name, "method": one.row["method"], "cost": one.row["unicast bytes"]}
        | {"value": _mean(list(one.personal.values()))}
        for one in whole
        if one.measure == what
    ]
    if len(rows) < 2:
        return None
    mark_front(rows, measure_named(what).higher)
    names = list(dict.fromkeys(row["method"] for row in rows))
    base = against(alt.Chart(ROWS), "bytes sent (unicast)", what)
    front = dashed_front(base)
    dots = base.mark_point(filled=True, size=90).encode(
        color=alt.Color("method:N", scale=cycled(names), legend=None),
        tooltip=[
            "run:N",
            "method:N",
            "value:Q",
            alt.Tooltip("cost:Q", title="bytes", format=".4s"),
        ],
    )
    labels = base.mark_text(align="left", dx=8, dy=-4, fontSize=11).encode(
        text="run:N", color=alt.Color("method:N", scale=cycled(names), legend=None)
    )
    note = "A point is a finished run. Dashed: the runs that no other beats in both (Pareto)."
    return figure(
        "pareto",
        f"Test {formatting.label(what)} against bytes",
        note,
        alt.layer(front, dots, labels),
        rows,
        300,
    )


def _fair(whole: Sequence[Seen], what: str) -> Figure | None:
    """From the worst tenth of the clients to the best, a run a row."""
    rows: list[Row] = []
    for one in whole:
        if one.measure == what:
            values = np.sort(list(one.personal.values()))[:: measure_named(what).sign]
            decile = tenth(len(values))
            rows.append(
                {
                    "run": one.name,
                    "worst": _mean(values[:decile]),
                    "mean": _mean(values),
                    "best": _mean(values[-decile:]),
                }
                | {"std": rounded(float(values.std()))}
            )
    if not rows:
        return None
    rows.sort(key=lambda row: -measure_named(what).sign * row["worst"])
    x = alt.X(
        "worst:Q",
        title=f"test {formatting.label(what)} of clients",
        scale=alt.Scale(zero=False),
        axis=measured_axis(what, tickCount=TICKS),
    )
    y = alt.Y("run:N", sort=[row["run"] for row in rows], title=None, axis=alt.Axis(labelLimit=200))
    base = alt.Chart(ROWS).encode(y=y, tooltip=["run:N", "worst:Q", "mean:Q", "best:Q", "std:Q"])
    bars = base.mark_bar(height=8, opacity=0.45, color=GREEN).encode(x=x, x2="best:Q")
    means = base.mark_tick(thickness=3, color="#000").encode(x="mean:Q")
    note = (
        "Bars: from the mean of the worst tenth of the clients to that of the best tenth. "
        "Lines across: the mean. "
    )
    note += "The shorter the bar, the more equal the clients; ordered by the worst tenth."
    return figure(
        "fairness",
        "How equal the clients are",
        note,
        alt.layer(bars, means),
        rows,
        max(80, 26 * len(rows)),
    )


def _against(whole: Sequence[Seen], baseline: str) -> Figure | None:
    """Client by client: one run against another, chosen from two menus; runs of the same client
    data only.
    """
    first = next((one for one in whole if baseline in (one.name, one.row["method"])), None)
    if first is None:
        return None
    others = [one for one in whole if one is not first and one.same_data(first)]
    same = [first, *(one for one in others if one.row["seed"] == first.row["seed"])]
    if len(same) < 2:
        return None
    names = [one.name for one in same]
    rows = [
        {
            "client": str(k),
            "of": [_value(one.personal, k) for one in same],
            "place": _places([one.personal.get(k) for one in same], first.measure),
        }
        for k in sorted(set.union(*(set(one.personal) for one in same)))
    ]
    note = (
        f"A point is a client; to the right {names[0]}, upwards {names[1]}, until others are "
        f"chosen below the chart; both axes: test {formatting.label(first.measure)}. Above the "
        "dashed diagonal the run on the upward axis has the higher number; helped and hurt: by "
        "that run. Only finished runs with the same clients' data and seed."
    )
    return figure("against", "Client by client", note, _pair_chart(names, first.measure), rows, 380)


def _pair_chart(names: list[str], measure: str) -> Layers:
    """Two runs against each other, client by client, with a menu for each axis."""
    menus = [_menu(name, at, names) for at, name in enumerate(("across", "up"))]
    gain = "datum.up - datum.across" if measure_named(measure).higher else "datum.across - datum.up"
    better = "datum.place[run_up] - datum.place[run_across]"
    scale = alt.Scale(domain=["helped", "hurt", "equal"], range=[GREEN, ORANGE, "#777777"])
    base = (
        alt.Chart(ROWS)
        .transform_calculate(across="datum.of[run_across]", up="datum.of[run_up]")
        .transform_filter("isValid(datum.across) && isValid(datum.up)")
        .transform_calculate(gain=gain, better=better)
        .transform_calculate(
            who="datum.better > 0 ? 'helped' : datum.better < 0 ? 'hurt' : 'equal'"
        )
    )
    axis = measured_axis(measure, tickCount=TICKS)
    x = alt.X("across:Q", title="", axis=axis, scale=alt.Scale(zero=False))
    y = alt.Y("up:Q", title="", axis=axis, scale=alt.Scale(zero=False))
    dots = base.mark_circle(size=50, opacity=0.7).encode(
        x=x,
        y=y,
        color=alt.Color("who:N", scale=scale, title=None),
        tooltip=["client:N", "across:Q", "up:Q", "gain:Q"],
    )
    diagonal = base.mark_line(color="#999", strokeDash=[4, 3]).encode(x=x, y=alt.Y("across:Q"))
    return alt.layer(diagonal, dots, *_named_axes(names)).add_params(*menus)


def _named_axes(names: list[str]) -> list[alt.Chart]:
    """The chosen runs' names where the titles of the axes are: a title cannot follow a menu."""
    prefixes = [f"{json.dumps(names)}[run_{way}]" for way in ("across", "up")]
    one = alt.Chart(ROWS).transform_aggregate(clients="count()")  # one row
    right = one.mark_text(
        align="right", baseline="top", dy=24, text=alt.expr(f"{prefixes[0]} + ' →'")
    )
    upward = one.mark_text(
        align="left", baseline="bottom", dy=-4, text=alt.expr(f"'↑ ' + {prefixes[1]}")
    )
    corner = {"x": alt.value("width"), "y": alt.value("height")}
    return [right.encode(**corner), upward.encode(x=alt.value(0), y=alt.value(0))]


def _menu(name: str, at: int, runs: list[str]) -> alt.Parameter:
    """A menu below the chart, from which a run is chosen by its number."""
    menu = alt.binding_select(options=list(range(len(runs))), labels=runs, name=f"{WAYS[name]}: ")
    return alt.param(name=f"run_{name}", value=at, bind=menu)


def _value(values: Mapping[int, float], client: int) -> float | None:
    return rounded(values[client]) if client in values else None


def _places(values: Sequence[float | None], measure: str) -> list[int | None]:
    """The places of one client's values, from the worst on, which is 0. Equal ones share a place,
    which the rounded values of the chart cannot tell.
    """
    sign = measure_named(measure).sign
    order = sorted({one for one in values if one is not None}, key=lambda one: sign * one)
    steps = (gain_on(measure, one, worse) > 0 for worse, one in pairwise(order))
    place = dict(zip(order, accumulate(steps, initial=0), strict=False))
    return [None if one is None else place[one] for one in values]


def _mean(values: Any) -> float:
    return rounded(float(np.mean(values)))
