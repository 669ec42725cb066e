"""How the clients' final scores are distributed, and the data that the clients have."""

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt

from fedkin.report import formatting
from fedkin.report.charts.base import (
    BLUE,
    CHOSEN,
    MANY,
    ORANGE,
    ROWS,
    Figure,
    colours,
    faded,
    figure,
    measured_axis,
    rounded,
    spaced,
    whole_axis,
)
from fedkin.report.collaboration import Groups
from fedkin.report.matrix import Matrix
from fedkin.report.records import Client, evenly

HEAT = 200  # columns of a heat map
FEW = 5  # clients that a histogram needs
CLASSES = 30  # more classes than that are drawn as a heat map


def histogram(
    matrices: Mapping[str, Matrix], what: str, clients: Mapping[int, Client]
) -> Figure | None:
    """How many clients have which score in the last round; None for so few that it
    shows nothing.

    Args:
        matrices: {view: scores}; the first view is drawn.
        what: The name of the measure.
        clients: {number: client}.

    Returns:
        A figure, or None.
    """
    view, matrix = next(iter(matrices.items()))
    rows = [
        {"client": clients[k].name if k in clients else str(k), "value": rounded(value)}
        for k, value in matrix.row(-1).items()
    ]
    if len(rows) < FEW:
        return None
    axis = measured_axis(what, grid=False)
    base = alt.Chart(ROWS)
    bins = alt.Bin(maxbins=20)
    bars = base.mark_bar(color=BLUE).encode(
        x=alt.X("value:Q", bin=bins, title=f"test {formatting.label(what)} ({view})", axis=axis),
        y=alt.Y("count():Q", title="clients", axis=whole_axis()),
        tooltip=[alt.Tooltip("count():Q", title="clients")],
    )
    mean = base.mark_rule(strokeDash=[5, 3], size=2).encode(x="mean(value):Q")
    own = (
        base.transform_filter(f"datum.client === {CHOSEN}")
        .mark_rule(color=ORANGE, size=3)
        .encode(x="value:Q")
    )
    note = (
        f"Final round, {view} view. Dashed: the mean over clients. A chosen client is the "
        "orange line."
    )
    return figure(
        "histogram",
        f"How many clients have which {formatting.label(what)}",
        note,
        alt.layer(bars, mean, own),
        rows,
        200,
    )


def classes_by_client(
    clients: Sequence[Client], names: Sequence[str], groups: Groups | None = None
) -> Figure | None:
    """Training samples by class and client: bubbles, or a heat map where there are many; None
    without clients.

    Args:
        clients: In the order of their numbers.
        names: Of the classes.
        groups: What the method found; clients stand in their order, and a strip of colours tells
            them. None: it found none.

    Returns:
        A figure, or None.
    """
    if not clients:
        return None
    if not any(sum(client.histogram) for client in clients):
        return _sizes(clients)
    bubbles = len(clients) <= MANY and max(len(c.histogram) for c in clients) <= CLASSES
    shown = _ordered(clients, groups, bubbles)
    labels = class_labels(clients, names)
    rows = _counts(shown, labels)
    few = len(shown) <= MANY
    axis = alt.Axis(labelAngle=-60, labelLimit=80, labels=few, ticks=few)
    x = alt.X("client:N", sort=[c.name for c in shown], title="client", axis=axis)
    share = alt.Tooltip("share:Q", format=".1%", title="of the client's data")
    strips = [groups.kind] if groups is not None else []
    y = alt.Y("label:N", sort=[*strips, *labels], title="class", axis=alt.Axis(labelLimit=110))
    base = alt.Chart(ROWS).encode(x=x, y=y, tooltip=["client:N", "label:N", "samples:Q", share])
    chart = _bubbles(base) if bubbles else _heat_map(base)
    if groups is not None:
        chart, strip_rows = _with_strip(chart, x, y, shown, groups)
        rows += strip_rows
    note = _note(bubbles, groups, len(shown), len(clients))
    height = max(120, min(600, _row_height(bubbles, labels) * (len(labels) + len(strips))))
    return figure("data", "Who has what data", note, alt.layer(chart), rows, height)


def _row_height(bubbles: bool, labels: Sequence[str]) -> int:
    """Pixels of a class's row."""
    if bubbles:
        return 22
    return 18 if len(labels) <= CLASSES else 12


def class_labels(clients: Sequence[Client], names: Sequence[str]) -> list[str]:
    """What the classes of the clients' histograms are called.

    Args:
        clients: Whose histograms are drawn.
        names: Of the first classes; the others are called by their numbers.

    Returns:
        A name a class.
    """
    width = max((len(client.histogram) for client in clients), default=0)
    return [names[k] if k < len(names) else str(k) for k in range(width)]


def _counts(shown: Sequence[Client], labels: Sequence[str]) -> list[dict[str, Any]]:
    """One row a class that a client has."""
    return [
        {
            "client": c.name,
            "label": labels[k],
            "samples": n,
            "share": round(n / sum(c.histogram), 4),
        }
        for c in shown
        for k, n in enumerate(c.histogram)
        if n
    ]


def _bubbles(base: alt.Chart) -> alt.Chart:
    size = alt.Size("samples:Q", scale=alt.Scale(range=[4, 300]), title="training samples")
    dots = base.mark_circle(color=BLUE)
    chart: alt.Chart = dots.encode(size=size.legend(tickCount=3), opacity=faded(0.8))
    return chart


def _heat_map(base: alt.Chart) -> alt.Chart:
    colour = alt.Color("share:Q", scale=alt.Scale(scheme="blues", domain=[0, 1]), title="share")
    chart: alt.Chart = base.mark_rect().encode(color=colour.legend(format=".0%"), opacity=faded())
    return chart


def _note(bubbles: bool, groups: Groups | None, shown: int, clients: int) -> str:
    """What is to be seen, in which order, and how many clients are left out."""
    if bubbles:
        seen, order = "The area of a bubble is the number of training samples", ""
    else:
        seen = "The darker, the more of a client's data is of the class"
        order = "; clients in order of their largest class"
    if groups is not None:
        order = f"; clients in order of their {groups.kind}, the strip above"
    return f"{seen}{order}.{spaced(shown, clients)}"


def _ordered(clients: Sequence[Client], groups: Groups | None, few: bool) -> list[Client]:
    if groups is None:
        return list(clients) if few else evenly(sorted(clients, key=_main_class), HEAT)
    last = len(groups.of)  # those without a group come last
    order = sorted(clients, key=lambda c: (groups.of.get(c.number, last), *_main_class(c)))
    return order if few else evenly(order, HEAT)


def _with_strip(
    chart: alt.Chart, x: alt.X, y: alt.Y, shown: Sequence[Client], groups: Groups
) -> tuple[Any, list[dict[str, Any]]]:
    """The chart with a row of the groups' colours, and the rows for it."""
    rows = [
        {"client": c.name, "label": groups.kind, "group": str(groups.of[c.number])}
        for c in shown
        if c.number in groups.of
    ]
    colour = alt.Color("group:N", scale=colours(groups.names), title=groups.kind)
    strip = (
        alt.Chart(ROWS)
        .transform_filter("isValid(datum.group)")
        .mark_rect()
        .encode(x=x, y=y, color=colour, opacity=faded(), tooltip=["client:N", "group:N"])
    )
    data = chart.transform_filter("isValid(datum.samples)")
    return alt.layer(data, strip).resolve_scale(color="independent"), rows


def _sizes(clients: Sequence[Client]) -> Figure:
    """Training samples by client, where there are no classes."""
    shown = evenly(clients, HEAT)
    rows = [{"client": c.name, "samples": c.train} for c in shown]
    few = len(shown) <= MANY
    chart = (
        alt.Chart(ROWS)
        .mark_bar(color=BLUE)
        .encode(
            x=alt.X(
                "client:N",
                sort=None,
                title="client",
                axis=alt.Axis(labelAngle=-60, labelLimit=80, labels=few, ticks=few),
            ),
            y=alt.Y("samples:Q", title="training samples"),
            opacity=faded(),
            tooltip=["client:N", "samples:Q"],
        )
    )
    note = "Training samples of each client."
    if len(shown) < len(clients):
        note += f" {len(shown)} of {len(clients)} clients are shown, evenly spaced."
    return figure("data", "Who has how much data", note, alt.layer(chart), rows, 200)


def _main_class(client: Client) -> tuple[int, int]:
    histogram = client.histogram or [0]
    return histogram.index(max(histogram)), client.number
