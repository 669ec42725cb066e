"""Who is made of which components: on the simplex, at the end, and over rounds."""

from collections.abc import Callable
from typing import Any

import altair as alt
import numpy as np
from numpy.typing import NDArray

from fedkin.report.charts.base import (
    CHOSEN,
    MANY,
    OWN,
    ROWS,
    Figure,
    Layers,
    Own,
    colours,
    faded,
    figure,
    spaced,
    whole_axis,
)
from fedkin.report.matrix import Stack, carried
from fedkin.report.records import Run, evenly, number

PATH = 40  # rounds of a chosen client's path
# How far points that coincide are spread: the radius grows with the square root of their number
SPIRAL = 0.022
GOLDEN = 2.399963  # the angle between neighbours of a sunflower's spiral
# the name of a corner at the side stands above its clients, not upon them
ABOVE = "abs(datum.y) < 0.3 ? -18 : 0"


def membership_figures(run: Run, stack: Stack) -> list[Figure]:
    """The simplex (from two components on), the last memberships, the largest over rounds, and the
    means.

    Args:
        run: An open run.
        stack: Memberships [rounds, clients, parts].

    Returns:
        In the order of the page.
    """
    parts = stack.values.shape[2]
    names = [run.name(k) for k in stack.clients]
    last = np.nan_to_num(stack.last())
    order = sorted(range(len(names)), key=lambda j: (int(last[j].argmax()), -last[j].max(), j))
    drawn = [_simplex(stack, names, last), _over_rounds(stack, names, order)] if parts > 1 else []
    return [*drawn, _map(names, last, order), _means(stack, run.name)]


def corners(parts: int) -> NDArray[np.float64]:
    """The corners of the simplex in the plane [parts, 2]: a segment, a triangle, a
    regular polygon.

    Args:
        parts: At least 2.

    Returns:
        Of length 1 each.
    """
    if parts == 2:
        return np.array([[-1.0, 0.0], [1.0, 0.0]])
    angles = np.pi / 2 + 2 * np.pi * np.arange(parts) / parts
    return np.stack([np.cos(angles), np.sin(angles)], 1)


def spread(points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Points that (nearly) coincide are laid out as a sunflower around their place, so that each
    can be seen.

    Args:
        points: Where clients lie, [clients, 2].

    Returns:
        A copy [clients, 2].
    """
    places, seen = points.copy(), dict[tuple[float, ...], int]()
    for j, point in enumerate(np.round(points / 0.04).tolist()):
        n = seen[tuple(point)] = seen.get(tuple(point), -1) + 1
        places[j] += SPIRAL * np.sqrt(n) * np.array([np.cos(n * GOLDEN), np.sin(n * GOLDEN)])
    return places


def _simplex(stack: Stack, names: list[str], last: NDArray[np.float64]) -> Figure:
    """Every client as a point between the components; a chosen client's way there as a line."""
    parts = last.shape[1]
    at = corners(parts)
    points = spread(last @ at)
    rows: list[dict[str, Any]] = [
        {"client": names[j], "x": _r(x), "y": _r(y), "component": str(int(last[j].argmax()))}
        | {"memberships": ", ".join(f"{w:.2f}" for w in last[j])}
        for j, (x, y) in enumerate(points.tolist())
    ]
    edge = [
        {"corner": str(k), "x": _r(at[k, 0]), "y": _r(at[k, 1]), "order": k} for k in range(parts)
    ]
    edge.append({**edge[0], "order": parts})
    hidden = alt.Axis(labels=False, ticks=False, grid=False, domain=False, title=None)
    xs = alt.X("x:Q", axis=hidden, scale=alt.Scale(domain=[-2, 2]))
    ys = alt.Y("y:Q", axis=hidden, scale=alt.Scale(domain=[-1.25, 1.3]))
    scale = colours([str(k) for k in range(parts)])
    large: Any = alt.condition(f"datum.client === {CHOSEN}", alt.value(200), alt.value(40))
    base = alt.Chart(ROWS)
    dots = (
        base.transform_filter("isValid(datum.client)")
        .mark_circle()
        .encode(x=xs, y=ys, size=large, opacity=faded(0.8), tooltip=["client:N", "memberships:N"])
        .encode(color=alt.Color("component:N", scale=scale, title="largest component"))
    )
    way = (
        alt.Chart(OWN)
        .mark_line(color="#000", strokeWidth=1.5, point={"size": 12, "color": "#000"})
        .encode(x="x:Q", y="y:Q", order="n:Q")
    )
    note = (
        "A client is a point at the mean of the corners, weighted by its memberships at the end; "
        "points that coincide are spread in a spiral. A chosen client's way through the rounds is "
        "the thin line."
    )
    if parts > 3:
        note += (
            f" {parts} components do not fit a plane: unlike memberships can come to lie at one "
            "place."
        )
    chart = alt.layer(*_edge(base, xs, ys, parts), way, dots)
    own = Own(["x", "y", "n"], _ways(stack, names, at))
    return figure("simplex", "Clients between components", note, chart, [*rows, *edge], 380, own)


def _ways(stack: Stack, names: list[str], at: NDArray[np.float64]) -> dict[str, list[list[float]]]:
    """{client: [x, y, moment] of each moment that knows its memberships}; ``at``: the corners."""
    path = carried(stack.values)[evenly(range(len(stack.rounds)), PATH)]
    return {
        name: [
            [_r(x), _r(y), n]
            for n, (x, y) in enumerate((np.nan_to_num(path[:, j]) @ at).tolist())
            if np.isfinite(path[n, j]).any()
        ]
        for j, name in enumerate(names)
    }


def _edge(base: alt.Chart, xs: alt.X, ys: alt.Y, parts: int) -> list[alt.Chart]:
    """The line around the components' corners, and their names."""
    outline = (
        base.transform_filter("isValid(datum.order)")
        .mark_line(color="#999")
        .encode(x=xs, y=ys, order="order:Q")
    )
    tags = (
        base.transform_filter(f"isValid(datum.order) && datum.order < {parts}")
        .mark_text(dy=alt.expr(ABOVE), fontSize=13)
        .encode(x=alt.X("tx:Q"), y=alt.Y("ty:Q"), text="tag:N")
        .transform_calculate(
            tx="datum.x * 1.13", ty="datum.y * 1.13", tag="'component ' + datum.corner"
        )
    )
    return [outline, tags]


def _over_rounds(stack: Stack, names: list[str], order: list[int]) -> Figure:
    """Client × round: the largest component, and how large it is."""
    shown, rounds = evenly(order, MANY), range(len(stack.rounds))
    largest = stack.largest().values
    rows = [
        {"client": names[j], "round": stack.rounds[i], "component": str(int(largest[i, j]))}
        | {"weight": _r(float(np.nanmax(stack.values[i, j])))}
        for i in rounds
        for j in shown
        if np.isfinite(largest[i, j])
    ]
    note = (
        "A row is a client, in order of its component at the end; the fainter, the less it "
        "belongs to one alone. "
    )
    note += "A chosen client has a frame." + spaced(len(shown), len(order))
    if len(rounds) < stack.among:
        note += f" {len(rounds)} of {stack.among} rounds are shown."
    chart = _rounds_chart([names[j] for j in shown], stack.values.shape[2])
    height = max(120, (8 if len(shown) > 30 else 13) * len(shown))
    return figure("memberships", "Memberships over rounds", note, chart, rows, height)


def _rounds_chart(clients: list[str], parts: int) -> Layers:
    """Client × round as a heat map of so many components, with a frame for a chosen client."""
    chart = (
        alt.Chart(ROWS)
        .mark_rect()
        .encode(
            x=alt.X("round:O", title="round", axis=alt.Axis(labelAngle=0)),
            y=alt.Y("client:N", sort=clients, title="client", axis=alt.Axis(labelLimit=80)),
            color=alt.Color(
                "component:N",
                scale=colours([str(k) for k in range(parts)]),
                title="largest component",
            ),
            opacity=alt.Opacity(
                "weight:Q",
                scale=alt.Scale(domain=[1 / parts, 1], range=[0.15, 1], clamp=True),
                title="its weight",
                legend=alt.Legend(symbolFillColor="#000"),
            ),
            tooltip=["client:N", "round:O", "component:N", alt.Tooltip("weight:Q", format=".3f")],
        )
    )
    mark = (
        alt.Chart(ROWS)
        .transform_filter(f"datum.client === {CHOSEN}")
        .mark_rect(filled=False, stroke="#000")
        .encode(x="round:O", y=alt.Y("client:N", sort=clients))
    )
    return alt.layer(chart, mark)


def _map(names: list[str], last: NDArray[np.float64], order: list[int]) -> Figure:
    shown = evenly(order, 4 * MANY)
    rows = [
        {"client": names[j], "component": k, "weight": _r(w)}
        for j in shown
        for k, w in enumerate(last[j])
    ]
    few = len(shown) <= MANY
    chart = (
        alt.Chart(ROWS)
        .mark_rect()
        .encode(
            x=alt.X(
                "client:N",
                sort=[names[j] for j in shown],
                title="client",
                axis=alt.Axis(labelAngle=-60, labelLimit=80, labels=few, ticks=few),
            ),
            y=alt.Y("component:O", title="component"),
            color=alt.Color(
                "weight:Q", scale=alt.Scale(scheme="blues", domain=[0, 1]), title="weight"
            ),
            opacity=faded(),
            tooltip=["client:N", "component:O", alt.Tooltip("weight:Q", format=".3f")],
        )
    )
    note = "The last known memberships, clients in order of their largest component."
    note += spaced(len(shown), len(order))
    title = "Who is made of which component"
    return figure("membership", title, note, alt.layer(chart), rows, max(100, 30 * last.shape[1]))


def _means(stack: Stack, namer: Callable[[int], str]) -> Figure:
    parts, keep = stack.values.shape[2], evenly(range(len(stack.rounds)), PATH)
    rows = [
        {
            "round": stack.rounds[i],
            "component": str(k),
            "mean": _r(float(np.nanmean(stack.values[i, :, k]))),
        }
        for i in keep
        for k in range(parts)
        if np.isfinite(stack.values[i, :, k]).any()
    ]
    own = Own(
        ["round", "component", "weight"],
        {
            namer(client): [number(_r(v)) for v in stack.values[keep, j, :].ravel().tolist()]
            for j, client in enumerate(stack.clients)
        },
        [[stack.rounds[i], str(k)] for i in keep for k in range(parts)],
    )
    note = (
        "Mean over the clients of which a membership was reported in that round. A chosen "
        "client's own are dashed."
    )
    title = "The components over rounds"
    return figure("components", title, note, _means_chart(parts, len(keep) <= 30), rows, 220, own)


def _means_chart(parts: int, points: bool) -> Layers:
    """A line for each component, with points or without, and a chosen client's dashed."""
    x = alt.X("round:Q", title="round", axis=whole_axis()).scale(zero=False, nice=False)
    colour = alt.Color(
        "component:N", scale=colours([str(k) for k in range(parts)]), title="component"
    )
    tips = ["round:Q", "component:N", alt.Tooltip("mean:Q", format=".3f")]
    chart = (
        alt.Chart(ROWS).mark_line(point=points).encode(x=x, y=alt.Y("mean:Q", title="mean weight"))
    )
    dashed = (
        alt.Chart(OWN)
        .mark_line(strokeDash=[4, 3])
        .encode(x="round:Q", y="weight:Q", color="component:N")
    )
    return alt.layer(chart.encode(color=colour, tooltip=tips), dashed)


def _r(value: float) -> float:
    return round(float(value), 4)
