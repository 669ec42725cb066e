"""Client against client, for two runs that are chosen from menus."""

import json
from collections.abc import Mapping, Sequence
from itertools import accumulate, pairwise

import altair as alt

from fedkin.core.measures import gain_on, measure_named
from fedkin.report import formatting
from fedkin.report.charts.base import (
    GREEN,
    ORANGE,
    ROWS,
    TICKS,
    Figure,
    Layers,
    figure,
    measured_axis,
    rounded,
)
from fedkin.report.comparison.run_row import ComparedRun

WAYS = {"across": "to the right", "up": "upwards"}


def against_figure(whole: Sequence[ComparedRun], baseline: str) -> Figure | None:
    """Client by client: one run against another, chosen from two menus; runs of the same client
    data only.

    Args:
        whole: Finished runs with clients' scores.
        baseline: The method or the name of the run that others are held against.

    Returns:
        A figure; None where no two runs compare.
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
