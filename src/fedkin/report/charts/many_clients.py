"""The final scores of more clients than a page can hold: quantiles, and how many have which."""

from collections.abc import Collection, Mapping
from typing import Any

import altair as alt
import numpy as np

from fedkin.report import formatting
from fedkin.report.charts.base import BLUE, CHOSEN, ROWS, Figure, figure, rounded, whole_axis
from fedkin.report.charts.rounds import view_colour
from fedkin.report.matrix import Matrix
from fedkin.report.records import Client

POINTS, BINS = 101, 20


def quantiles(
    matrices: Mapping[str, Matrix],
    what: str,
    clients: Mapping[int, Client],
    panel: Collection[int],
    panel_words: str,
) -> Figure:
    """Which share of the clients has at most which score; the panel's clients are dots in it.

    Args:
        matrices: {view: scores}.
        what: The name of the measure.
        clients: {number: client}.
        panel: Numbers of the clients that are dots.
        panel_words: Who they are, for the note.

    Returns:
        A figure.
    """
    rows: list[dict[str, Any]] = []
    for view, matrix in matrices.items():
        final = matrix.row(-1)
        numbers, scores = np.array(list(final)), np.array(list(final.values()))
        order = np.lexsort((numbers, scores))
        place = {k: n for n, k in enumerate(numbers[order].tolist())}
        ascending = scores[order]
        shares = np.linspace(0, 1, POINTS)
        rows += [
            {"view": view, "share": round(share, 4), "value": rounded(value)}
            for share, value in zip(
                shares.tolist(), np.quantile(ascending, shares).tolist(), strict=True
            )
        ]
        rows += [
            {
                "view": view,
                "client": clients[k].name if k in clients else str(k),
                "share": round(place[k] / max(1, len(order) - 1), 4),
                "value": rounded(final[k]),
            }
            for k in panel
            if k in final
        ]
    label = formatting.label(what)
    form = alt.Axis(format="~%") if formatting.is_share(what) else alt.Axis()
    x = alt.X("share:Q", title="share of the clients", axis=alt.Axis(format="~%", grid=False))
    y = alt.Y("value:Q", title=f"test {label}", axis=form, scale=alt.Scale(zero=False))
    base = alt.Chart(ROWS).encode(x=x, y=y, color=view_colour(matrices))
    large: Any = alt.condition(f"datum.client === {CHOSEN}", alt.value(200), alt.value(24))
    chart = alt.layer(
        base.transform_filter("!isValid(datum.client)")
        .mark_line()
        .encode(tooltip=["view:N", x, y]),
        base.transform_filter("isValid(datum.client)")
        .mark_circle()
        .encode(size=large, tooltip=["client:N", "view:N", y]),
    )
    note = (
        f"Final: so large a share of all clients has at most this {label}. Dots: the panel "
        f"({panel_words}). Choose one to see it everywhere; every client is in clients.csv."
    )
    return figure("clients", f"Test {label} of the clients", note, chart, rows)


def counted(matrices: Mapping[str, Matrix], what: str) -> Figure:
    """How many of all clients have which final score.

    Args:
        matrices: {view: scores}; the first view is drawn.
        what: The name of the measure.

    Returns:
        A figure.
    """
    view, matrix = next(iter(matrices.items()))
    values = np.array(list(matrix.row(-1).values()))
    counts, edges = np.histogram(values, bins=BINS)
    rows = [
        {"from": rounded(low), "to": rounded(high), "clients": count}
        for low, high, count in zip(
            edges[:-1].tolist(), edges[1:].tolist(), counts.tolist(), strict=True
        )
    ]
    label = formatting.label(what)
    form = "~%" if formatting.is_share(what) else "~g"
    axis = alt.Axis(format=form, grid=False)
    bars = (
        alt.Chart(ROWS)
        .transform_filter("isValid(datum.clients)")
        .mark_bar(color=BLUE)
        .encode(
            x=alt.X("from:Q", bin="binned", title=f"test {label} ({view})", axis=axis),
            x2="to:Q",
            y=alt.Y("clients:Q", title="clients", axis=whole_axis()),
            tooltip=["from:Q", "to:Q", "clients:Q"],
        )
    )
    mean = (
        alt.Chart(ROWS)
        .transform_filter("isValid(datum.mean)")
        .mark_rule(strokeDash=[5, 3], size=2)
        .encode(x="mean:Q")
    )
    note = f"Final round, {view} view, all {len(values):,} clients. Dashed: their mean."
    shown_rows = [*rows, {"mean": rounded(float(values.mean()))}]
    title = f"How many clients have which {label}"
    return figure("histogram", title, note, alt.layer(bars, mean), shown_rows, 200)
