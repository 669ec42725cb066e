"""Accuracy over rounds, and against the bytes that were sent for it."""

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import altair as alt
import numpy as np

from fedkin.report import formatting
from fedkin.report.charts.base import (
    GREEN,
    GREY,
    ORANGE,
    OWN,
    PALETTE,
    ROWS,
    Figure,
    Own,
    figure,
    measured_axis,
    rounded,
    whole_axis,
)
from fedkin.report.matrix import Matrix
from fedkin.report.records import evenly
from fedkin.runs.record import FEDERATION

VIEW_COLOURS = {"personal": PALETTE[0], "global": ORANGE}
ROUNDS = 400  # more points than that no screen shows
CELLS = 400_000  # of the lines of single clients
TINY = 1e-12  # no digit of a smaller number is sure


def view_colour(views: Iterable[str]) -> alt.Color:
    """A view's colour is the same in every chart; the legend names those that this run has. What
    is no view of the run, a baseline, is grey.

    Args:
        views: Of this run, and baselines.

    Returns:
        A colour of altair.
    """
    known = list(views)
    shown = [view for view in VIEW_COLOURS if view in known]
    shown += [view for view in known if view not in VIEW_COLOURS]
    scale = alt.Scale(domain=shown, range=[VIEW_COLOURS.get(view, GREY) for view in shown])
    return alt.Color("view:N", scale=scale, title=None, legend=alt.Legend(symbolOpacity=1))


def over_rounds(
    matrices: Mapping[str, Matrix], what: str, last: int | None, own: Own | None
) -> Figure:
    """The mean over clients with a band from the lowest to the highest decile, a view in a colour.

    Args:
        matrices: {view: scores}.
        what: The name of the measure.
        last: The round after which the finish comes; None: unknown.
        own: The curve of every client, as of ``lines``; None: it is not drawn.

    Returns:
        A figure.
    """
    rows: list[dict[str, Any]] = []
    for view, matrix in matrices.items():
        for at, low, mean, high in evenly(matrix.bands(), ROUNDS):
            rows.append(
                {
                    "view": view,
                    "round": at,
                    "low": rounded(low),
                    "mean": rounded(mean),
                    "high": rounded(high),
                }
            )
    rounds = sorted({row["round"] for row in rows})
    few = len(rounds) <= 30
    base = alt.Chart(ROWS).encode(
        x=_round_axis(rounds),
        color=view_colour(matrices),
        tooltip=_tips(what),
    )
    band = base.mark_area(opacity=0.15).encode(y=_axis("low", what), y2="high:Q")
    if len(rounds) == 1:
        band = base.mark_rule(strokeWidth=6, opacity=0.25).encode(y=_axis("low", what), y2="high:Q")
    line = base.mark_line(point=few, clip=True).encode(y=_axis("mean", what))
    dashed = (
        alt.Chart(OWN)
        .mark_line(color="#000000", strokeDash=[4, 3], point=few)
        .encode(x="round:Q", y="value:Q")
    )
    note = (
        "Lines: mean over clients. Bands: from the mean of the lowest tenth of the clients "
        "to that of the highest tenth."
    )
    if last is not None and rounds[-1] > last:
        note += f" Round {rounds[-1]} is the finish, after the last round."
    note += " A chosen client is the dashed line (personal view)."
    title = f"Test {formatting.label(what)} over rounds"
    return figure("rounds", title, note, alt.layer(band, line, dashed), rows, 300, own)


def against_bytes(
    matrices: Mapping[str, Matrix], what: str, sent: Mapping[int, tuple[int, int]]
) -> Figure | None:
    """The mean against cumulative bytes; None where nothing is sent, or there is but one round.

    Args:
        matrices: {view: scores}.
        what: The name of the measure.
        sent: {round: (paper bytes, unicast bytes)}.

    Returns:
        A figure, or None.
    """
    total, until = 0, {}
    for at in sorted(sent):
        total += sent[at][1]
        until[at] = total
    rows = [
        {
            "view": view,
            "round": at,
            "bytes": until[at],
            "mean": rounded(mean),
            "low": rounded(low),
            "high": rounded(high),
        }
        for view, matrix in matrices.items()
        for at, low, mean, high in evenly(matrix.bands(), ROUNDS)
        if until.get(at)
    ]
    if len({row["round"] for row in rows}) < 2:
        return None
    chart = (
        alt.Chart(ROWS)
        .mark_line(point=len(rows) <= 60)
        .encode(
            x=alt.X(
                "bytes:Q",
                title="bytes sent so far",
                scale=alt.Scale(type="log", nice=False),
                axis=_size_axis(),
            ),
            y=_axis("mean", what),
            order="round:Q",
            color=view_colour(matrices),
            tooltip=[*_tips(what), alt.Tooltip("bytes:Q", format=".4s")],
        )
    )
    note = (
        "Every message of the rounds counted (unicast), up and down, on a logarithmic "
        "scale; setup and finish are not."
    )
    return figure(
        "bytes",
        f"Test {formatting.label(what)} against communication",
        note,
        alt.layer(chart),
        rows,
    )


def lines(matrix: Matrix, name: Callable[[int], str]) -> Own:
    """The curve of every client, for the page to draw the chosen one's: columns round, value.

    Args:
        matrix: Scores.
        name: client's number → its name.

    Returns:
        At most ROUNDS rounds, in steps that a screen shows.
    """
    keep = evenly(
        range(len(matrix.rounds)), max(2, min(ROUNDS, CELLS // max(1, len(matrix.clients))))
    )
    values = matrix.values[keep]
    step = _step(values)
    whole = {
        name(client): [None if v != v else round(v / step) for v in values[:, j].tolist()]
        for j, client in enumerate(matrix.clients)
    }
    return Own(["round", "value"], whole, [[matrix.rounds[k]] for k in keep], step)


def _step(values: Any) -> float:
    """What whole numbers stand for: 1e-4, and less where the largest value is below 0.1."""
    largest = float(np.abs(values[np.isfinite(values)]).max(initial=0.0))
    return 1e-4 if largest < TINY else min(1e-4, 10.0 ** (math.floor(math.log10(largest)) - 3))


def over_time(matrix: Matrix, name: str, namer: Callable[[int], str]) -> Figure:
    """A number that the clients' method tells: mean, lowest and highest by round.

    Args:
        matrix: The number of every client.
        name: Of the note.
        namer: client's number → its name.

    Returns:
        A figure.
    """
    rows = [
        {"round": at, "low": rounded(low), "mean": rounded(mean), "high": rounded(high)}
        for at, low, mean, high in evenly(matrix.bands(), ROUNDS)
    ]
    rounds = [row["round"] for row in rows]
    base = alt.Chart(ROWS).encode(x=_round_axis(rounds), tooltip=_tips())
    y = alt.Y("low:Q", title=name, scale=alt.Scale(zero=False))
    band = base.mark_area(opacity=0.15, color=GREEN).encode(y=y, y2="high:Q")
    line = base.mark_line(color=GREEN, point=len(rounds) <= 30).encode(
        y=alt.Y("mean:Q", title=name)
    )
    if matrix.clients == [FEDERATION]:
        note = "What the method records of the whole federation."
        return figure(f"note-{name}", name, note, alt.layer(line), rows, 160)
    dashed = (
        alt.Chart(OWN)
        .mark_line(color="#000000", strokeDash=[4, 3])
        .encode(x="round:Q", y="value:Q")
    )
    note = (
        "What the method records of its clients: mean, with a band from the lowest tenth to "
        "the highest. "
    )
    note += "A chosen client is the dashed line."
    return figure(
        f"note-{name}", name, note, alt.layer(band, line, dashed), rows, 200, lines(matrix, namer)
    )


def _round_axis(rounds: list[int]) -> alt.X:
    low, high = (rounds[0], rounds[-1]) if rounds else (0, 1)
    if high == low:
        only = alt.Axis(format="d", values=[low], grid=False)
        return alt.X(
            "round:Q", title="round", scale=alt.Scale(domain=[low - 1, high + 1]), axis=only
        )
    return alt.X(
        "round:Q",
        title="round",
        scale=alt.Scale(domain=[low, high], nice=False),
        axis=whole_axis(grid=False),
    )


def _axis(field: str, what: str) -> alt.Y:
    axis = measured_axis(what)
    return alt.Y(
        f"{field}:Q", title=f"test {formatting.label(what)}", axis=axis, scale=alt.Scale(zero=False)
    )


def _size_axis() -> alt.Axis:
    return alt.Axis(format=".2~s", grid=False, labelFlush=True, tickCount=5)


def _tips(what: str = "") -> list[alt.Tooltip | str]:
    form = ".2%" if what and formatting.is_share(what) else ".4~g"
    names = {"low": "lowest tenth", "mean": "mean", "high": "highest tenth"}
    return [
        "round:Q",
        *(alt.Tooltip(f"{key}:Q", title=title, format=form) for key, title in names.items()),
    ]
