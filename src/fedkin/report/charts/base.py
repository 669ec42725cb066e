"""What all charts share: colours, sizes, the chosen client, and how a chart becomes a Vega-Lite
specification.

Charts get rows (lists of dicts) that Python has already added up, so that a page stays small for
thousands of clients.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import altair as alt

from fedkin.report import formatting

BLUE, ORANGE, GREEN, PINK = "#0072B2", "#D55E00", "#009E73", "#CC79A7"
WINE = "#882255"  # in the place of Okabe and Ito's yellow, which white paper swallows
PALETTE = [BLUE, "#E69F00", GREEN, PINK, "#56B4E9", ORANGE, WINE, "#000000"]  # Okabe and Ito
GREY = "#767676"  # of baselines
DASHES = ([1, 0], [6, 3], [2, 2], [8, 3, 2, 3])  # of the lines that share a colour
TICKS = 10  # of an axis of scores: steps that are read at once
MANY = 60  # from here on clients are sampled or drawn as a heat map
CHOSEN = "chosen"  # the parameter that every chart has: the name of the chosen client, or null
IS_CHOSEN = f"{CHOSEN} === null || datum.client === {CHOSEN}"
HEIGHT = 260
ROWS = alt.NamedData("rows")  # what a chart shows
OWN = alt.NamedData("own")  # rows of the chosen client alone, which the page puts in

Rows = Sequence[Mapping[str, Any]]
Layers = alt.LayerChart | alt.FacetChart  # what altair makes of charts that lie on each other


def measured_axis(measure: str, **options: Any) -> alt.Axis:
    """An axis of a measure's values: shares are written as per cent.

    Args:
        measure: The name of the measure.
        **options: Of altair's axis.

    Returns:
        Altair's axis, with per cent as its format for shares.
    """
    return axis_of(formatting.is_share(measure), **options)


def axis_of(share: bool, **options: Any) -> alt.Axis:
    """An axis of shares, written as per cent, or of other numbers.

    Args:
        share: Whether values are shares in 0..1.
        **options: Of altair's axis.

    Returns:
        Altair's axis, with per cent as its format for shares.
    """
    if share:
        options["format"] = "~%"
    return alt.Axis(**options)


def whole_axis(**options: Any) -> alt.Axis:
    """An axis of rounds or of clients, neither of which is halved: Vega puts a tick at 1.5 between
    two rounds, and would call it 2.

    Args:
        **options: Of altair's axis.

    Returns:
        Altair's axis, with names at whole numbers alone.
    """
    names = "datum.value % 1 ? '' : datum.label"
    return alt.Axis(format="d", tickMinStep=1, labelExpr=names, **options)


def rounded(value: float) -> float:
    """Five decimals, and below 1 five significant digits: more than a screen shows, in whatever
    unit.

    Args:
        value: A number that is finite.

    Returns:
        The rounded number.
    """
    return round(value, 5) if abs(value) >= 1 else float(f"{value:.5g}")


def ends_of_axis(rows: Sequence[Mapping[str, Any]], margin: float) -> tuple[float, float]:
    """Where an axis of values ends: at the lowest and the highest, with a little room.

    Args:
        rows: With "value", and those of a mean over seeds with "low" and "high".
        margin: The room at each end, beside all that is between.

    Returns:
        (low, high), which differ.
    """
    low = min(row.get("low", row["value"]) for row in rows)
    high = max(row.get("high", row["value"]) for row in rows)
    room = margin * (high - low) or 0.05 * abs(high) or 1.0
    return round(low - room, 6), round(high + room, 6)


class Own(NamedTuple):
    """From what the page makes the rows of the chosen client (``OWN``), by the clients' names.

    With ``keys`` a client has one number for each key, × ``scale``, or None: a row is the key's
    parts and the number. Without, its values are whole rows.
    """

    columns: Sequence[str]
    values: Mapping[str, Sequence[Any]]
    keys: Sequence[Sequence[Any]] | None = None
    scale: float = 1.0


class Figure(NamedTuple):
    """One chart of the page.

    ``spec`` is a Vega-Lite specification; ``rows``: how many are drawn.
    """

    name: str  # also its anchor
    title: str
    note: str  # what is to be seen, and what was left out
    spec: dict[str, Any]
    rows: int
    own: Own | None = None
    label: str = ""  # what ``spec`` shows, where there are others
    others: Sequence[tuple[str, Mapping[str, Any]]] = ()  # (label, specification) to choose from
    choice: str = "Measure"  # what is chosen


def figure(
    name: str,
    title: str,
    note: str,
    chart: Layers,
    rows: Rows,
    height: int = HEIGHT,
    own: Own | None = None,
) -> Figure:
    """A figure as wide as its page, of a chart of ``ROWS`` (and of ``OWN``, where that is given).

    Args:
        name: Its anchor in the page.
        title: What screen readers say first.
        note: What is to be seen, and what was left out.
        chart: Of altair.
        rows: What is drawn, as dicts of plain values.
        height: In pixels.
        own: From what the rows of a chosen client are made; None: there are none.

    Returns:
        The figure.
    """
    return filled(name, title, note, empty(chart, height), rows, own)


def empty(chart: Layers, height: int = HEIGHT) -> dict[str, Any]:
    """The specification of a chart as wide as its page; its description and rows are missing.

    Args:
        chart: Of ``ROWS``.
        height: In pixels.

    Returns:
        A specification of Vega-Lite.
    """
    sized = chart.add_params(alt.param(name=CHOSEN, value=None)).properties(
        width="container",
        height=height,
        description="",
        autosize=alt.AutoSizeParams(type="fit-x", contains="padding"),
    )
    spec: dict[str, Any] = sized.configure(**STYLE).to_dict(validate=False)
    return spec


def filled(
    name: str, title: str, note: str, spec: dict[str, Any], rows: Rows, own: Own | None = None
) -> Figure:
    """The figure of an ``empty`` chart, which it becomes.

    Args:
        name: Its anchor in the page.
        title: Of the figure.
        note: What is to be seen, and what was left out.
        spec: Of an ``empty`` chart, which is changed.
        rows: What is drawn, as dicts of plain values.
        own: From what the rows of a chosen client are made; None: there are none.

    Returns:
        The figure.
    """
    spec["description"] = f"{title}. {note}"
    # Not given to altair, which would check row by row.
    spec["datasets"] = {ROWS.name: list(rows), OWN.name: []}
    return Figure(name, title, note, spec, len(rows), own)


STYLE: dict[str, Any] = {
    "font": "system-ui, sans-serif",
    "background": "white",
    "view": {"stroke": None},
    "axis": {
        "labelFontSize": 12,
        "titleFontSize": 12,
        "titleFontWeight": "normal",
        "gridColor": "#e4e4e4",
        "labelOverlap": True,
    },
    "axisX": {"labelSeparation": 6},
    "legend": {
        "orient": "top",
        "direction": "horizontal",
        "labelFontSize": 12,
        "titleFontSize": 12,
        "symbolLimit": 30,
    },
}


def spaced(shown: int, clients: int) -> str:
    """The end of a note: how many of the clients stand in the chart, in the order that it told; ""
    where all do.

    Args:
        shown: How many are in the chart.
        clients: How many there are.

    Returns:
        A sentence, or "".
    """
    if shown == clients:
        return ""
    return f" {shown} of {clients} clients are shown, evenly spaced in this order."


def faded(opacity: float = 1.0) -> alt.Opacity:
    """Clients that are not the chosen one step back.

    Args:
        opacity: Of the chosen one, in 0..1.

    Returns:
        A condition of altair.
    """
    shown, hidden = alt.value(opacity), alt.value(0.15)
    return alt.condition(IS_CHOSEN, shown, hidden)  # type: ignore[return-value]


def colours(names: Sequence[str]) -> alt.Scale:
    """One colour a name: the safe palette, beyond eight names a sequential scheme.

    Args:
        names: In their order.

    Returns:
        A scale of altair.
    """
    if len(names) <= len(PALETTE):
        return alt.Scale(domain=list(names), range=PALETTE[: len(names)])
    return alt.Scale(domain=list(names), scheme="viridis")


def cycled(names: Sequence[str]) -> alt.Scale:
    """The safe palette, again from its start beyond eight names: for what ``dashes`` or a label
    tells apart.

    Args:
        names: In their order.

    Returns:
        A scale of altair.
    """
    every = [PALETTE[k % len(PALETTE)] for k in range(len(names))]
    return alt.Scale(domain=list(names), range=every)


def dashes(names: Sequence[str]) -> alt.Scale:
    """A dash pattern for each eight names: lines of one colour differ.

    Args:
        names: In their order.

    Returns:
        A scale of altair.
    """
    every = [DASHES[k // len(PALETTE) % len(DASHES)] for k in range(len(names))]
    return alt.Scale(domain=list(names), range=every)
