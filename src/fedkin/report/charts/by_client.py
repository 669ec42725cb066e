"""Client by client: final scores, beside what each client reaches alone."""

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt

from fedkin.report import formatting
from fedkin.report.charts.base import CHOSEN, GREY, MANY, ROWS, Figure, faded, figure, measured_axis
from fedkin.report.charts.rounds import view_colour
from fedkin.report.intervals import of_share
from fedkin.report.matrix import Matrix
from fedkin.report.records import Client


def by_client(
    matrices: Mapping[str, Matrix],
    what: str,
    clients: Mapping[int, Client],
    beside: Mapping[str, Mapping[int, float]] | None = None,
) -> Figure:
    """The last round's score of each client, from the worst to the best.

    Args:
        matrices: By view; the first one orders the clients.
        what: A measure.
        clients: Of the run.
        beside: {what it is called: {client: its score}} of baselines, drawn in grey.
    """
    finals = {view: matrix.row(-1) for view, matrix in matrices.items()}
    lead = next(iter(finals))
    order = sorted(finals[lead], key=lambda k: (finals[lead][k], k))
    rank = {k: n + 1 for n, k in enumerate(order)}
    name = {k: clients[k].name if k in clients else str(k) for k in order}
    drawn: dict[str, Mapping[int, float]] = {**finals, **(beside or {})}
    few = len(order) <= MANY
    rows: list[dict[str, Any]] = [
        {"client": name[k], "rank": rank[k], "view": view, "value": round(value, 5)}
        | (_sure(what, value, clients.get(k)) if few and view == lead else {})
        for view, final in drawn.items()
        for k, value in final.items()
        if k in rank
    ]
    chart = _few(lead, what, drawn, name, order) if few else _many(lead, what, drawn)
    note = f"Final test {formatting.label(what)} of each client, ordered by the {lead} view."
    if any("low" in row for row in rows):
        note += " Thin lines: 95 % interval of a client's own number, by its test samples."
    note += " Dashed: the mean over clients."
    if beside:
        note += f" Grey: {', '.join(beside)}."
    return figure(
        "clients",
        f"Test {formatting.label(what)} of the clients",
        f"{note} The axis shows the range of the scores. Choose a client to see it everywhere.",
        chart,
        rows,
    )._replace(label=formatting.label(what))


def _scores(lead: str, what: str, drawn: Mapping[str, Any]) -> alt.Chart:
    """What the charts of clients share: the score upwards, a view in a colour."""
    axis = measured_axis(what)
    y = alt.Y(
        "value:Q", title=f"test {formatting.label(what)}", axis=axis, scale=alt.Scale(zero=False)
    )
    form = ".2%" if formatting.share(what) else ".4~g"
    tips: list[Any] = [
        "client:N",
        "view:N",
        alt.Tooltip("value:Q", title=formatting.label(what), format=form),
    ]
    found: alt.Chart = alt.Chart(ROWS).encode(
        y=y, color=view_colour(drawn), opacity=faded(0.9), tooltip=tips
    )
    return found


def _mean(lead: str) -> alt.Chart:
    rule = alt.Chart(ROWS).transform_filter(f"datum.view === '{lead}'")
    found: alt.Chart = rule.mark_rule(strokeDash=[5, 3], color=GREY).encode(y="mean(value):Q")
    return found


def _few(
    lead: str,
    what: str,
    drawn: Mapping[str, Any],
    name: Mapping[int, str],
    order: Sequence[int],
) -> alt.LayerChart | alt.FacetChart:
    """A column a client: a point with its interval, and ticks of the other views."""
    base = _scores(lead, what, drawn)
    x = alt.X(
        "client:N",
        sort=[name[k] for k in order],
        title="client",
        axis=alt.Axis(labelAngle=-60, labelLimit=80, grid=True),
    )
    own = base.transform_filter(f"datum.view === '{lead}'")
    ends = own.transform_filter("isValid(datum.low)").mark_rule(strokeWidth=1.5)
    others = base.transform_filter(f"datum.view !== '{lead}'")
    return alt.layer(
        _mean(lead),
        ends.encode(x=x, y="low:Q", y2="high:Q"),
        others.mark_tick(thickness=3, orient="horizontal").encode(x=x),
        own.mark_point(filled=True, size=70).encode(x=x),
    )


def _many(lead: str, what: str, drawn: Mapping[str, Any]) -> alt.LayerChart | alt.FacetChart:
    """A dot a client and view, by rank."""
    large: Any = alt.condition(f"datum.client === {CHOSEN}", alt.value(160), alt.value(18))
    x = alt.X(
        "rank:Q",
        title=f"clients, ordered by {lead} {formatting.label(what)}",
        axis=alt.Axis(grid=False, format="d"),
        scale=alt.Scale(nice=False),
    )
    dots = _scores(lead, what, drawn).mark_circle(clip=True).encode(x=x, size=large)
    return alt.layer(dots, _mean(lead))


def _sure(what: str, value: float, client: Client | None) -> dict[str, float]:
    """The interval of one client's number, where its test samples give one."""
    if what != "accuracy" or client is None or not client.test:
        return {}
    low, high = of_share(value, client.test)
    return {"low": round(low, 5), "high": round(high, 5)}
