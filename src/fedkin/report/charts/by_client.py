"""Client by client: final scores, beside what each client reaches alone."""

import json
from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple

import altair as alt

from fedkin.report import formatting
from fedkin.report.charts.base import (
    CHOSEN,
    GREY,
    MANY,
    ROWS,
    Figure,
    axis_of,
    empty,
    faded,
    filled,
    rounded,
)
from fedkin.report.charts.rounds import view_colour
from fedkin.report.intervals import of_share
from fedkin.report.matrix import Matrix
from fedkin.report.records import Client

# In a chart that waits for them: the label of a measure, and the clients' names in their order.
MEASURE, ORDER = "@measure@", "@order@"


class Kind(NamedTuple):
    """What a chart is built of. Those of a run's measures are of one or two kinds."""

    lead: str  # the view that orders the clients
    views: tuple[str, ...]  # and baselines
    share: bool  # a measure that is shown in per cent
    few: bool  # clients, so that each has a column


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

    Returns:
        A figure with a mark a client and view.
    """
    finals = {view: matrix.row(-1) for view, matrix in matrices.items()}
    lead = next(iter(finals))
    order = sorted(finals[lead], key=lambda k: (finals[lead][k], k))
    rank = {k: n + 1 for n, k in enumerate(order)}
    name = {k: clients[k].name if k in clients else str(k) for k in order}
    drawn: dict[str, Mapping[int, float]] = {**finals, **(beside or {})}
    few = len(order) <= MANY
    rows: list[dict[str, Any]] = [
        {"client": name[k], "rank": rank[k], "view": view, "value": rounded(value)}
        | (_sure(what, value, clients.get(k)) if few and view == lead else {})
        for view, final in drawn.items()
        for k, value in final.items()
        if k in rank
    ]
    kind = Kind(lead, tuple(drawn), formatting.is_share(what), few)
    chart = _of_measure(kind, formatting.label(what), [name[k] for k in order])
    note = f"Final test {formatting.label(what)} of each client, ordered by the {lead} view."
    if any("low" in row for row in rows):
        note += " Thin lines: 95 % interval of a client's own number, by its test samples."
    note += " Dashed: the mean over clients."
    if beside:
        note += f" Grey: {', '.join(beside)}."
    return filled(
        "clients",
        f"Test {formatting.label(what)} of the clients",
        f"{note} The axis shows the range of the scores. Choose a client to see it everywhere.",
        chart,
        rows,
    )._replace(label=formatting.label(what))


def _of_measure(kind: Kind, label: str, order: list[str]) -> dict[str, Any]:
    """A chart of that kind, of a measure and clients, without its rows."""
    text = _waiting(kind).replace(MEASURE, json.dumps(label)[1:-1])
    spec: dict[str, Any] = json.loads(text.replace(json.dumps([ORDER]), json.dumps(order)))
    return spec


@cache
def _waiting(kind: Kind) -> str:
    """The same as JSON, with MEASURE and ORDER in their places.

    altair takes a twentieth of a second for a chart, and a page has one for each measure.
    """
    return json.dumps(empty(_few(kind) if kind.few else _many(kind)))


def _scores(kind: Kind) -> alt.Chart:
    """What the charts of clients share: the score upwards, a view in a colour."""
    y = alt.Y(
        "value:Q",
        title=f"test {MEASURE}",
        axis=axis_of(kind.share),
        scale=alt.Scale(zero=False),
    )
    form = ".2%" if kind.share else ".4~g"
    tips: list[Any] = [
        "client:N",
        "view:N",
        alt.Tooltip("value:Q", title=MEASURE, format=form),
    ]
    chart: alt.Chart = alt.Chart(ROWS).encode(
        y=y, color=view_colour(kind.views), opacity=faded(0.9), tooltip=tips
    )
    return chart


def _mean(lead: str) -> alt.Chart:
    rule = alt.Chart(ROWS).transform_filter(f"datum.view === '{lead}'")
    chart: alt.Chart = rule.mark_rule(strokeDash=[5, 3], color=GREY).encode(y="mean(value):Q")
    return chart


def _few(kind: Kind) -> alt.LayerChart | alt.FacetChart:
    """A column a client: a point with its interval, and ticks of the other views."""
    base, lead = _scores(kind), kind.lead
    x = alt.X(
        "client:N",
        sort=[ORDER],
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


def _many(kind: Kind) -> alt.LayerChart | alt.FacetChart:
    """A dot a client and view, by rank."""
    large: Any = alt.condition(f"datum.client === {CHOSEN}", alt.value(160), alt.value(18))
    x = alt.X(
        "rank:Q",
        title=f"clients, ordered by {kind.lead} {MEASURE}",
        axis=alt.Axis(grid=False, format="d"),
        scale=alt.Scale(nice=False),
    )
    dots = _scores(kind).mark_circle(clip=True).encode(x=x, size=large)
    return alt.layer(dots, _mean(kind.lead))


def _sure(what: str, value: float, client: Client | None) -> dict[str, float]:
    """The interval of one client's number, where its test samples give one."""
    if what != "accuracy" or client is None or not client.test:
        return {}
    low, high = of_share(value, client.test)
    return {"low": rounded(low), "high": rounded(high)}
