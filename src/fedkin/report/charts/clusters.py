"""Who is in which cluster: the flow between clusters over rounds, and the map of
clients by rounds.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import altair as alt
import numpy as np
from numpy.typing import NDArray

from fedkin.report.charts.base import (
    MANY,
    OWN,
    PALETTE,
    ROWS,
    Figure,
    Layers,
    Own,
    colours,
    faded,
    figure,
    whole_axis,
)
from fedkin.report.matrix import Matrix, carried
from fedkin.report.records import Run, evenly

COLUMNS = 100  # columns of a heat map
MOMENTS = 9  # rounds between which the flow is drawn
STEPS = 12  # points of a ribbon's edge
BAR = 0.06  # half the width of a bar, where 1 is the way to the next
NOT_YET, OTHERS = "unknown", "others"
MATCHED = "Cluster numbers are matched over rounds by their members: a group keeps its colour."


class Flow(NamedTuple):
    """``at``: the rounds of the moments. ``names``: clusters from bottom to top. ``level``
    [moments, clients]: the place in ``names``.
    """

    at: list[int]
    names: list[str]
    level: NDArray[np.int64]


def cluster_flow(run: Run, clusters: Matrix) -> Figure | None:
    """Bars are clusters at a few rounds, ribbons the clients that go from one to another; None for
    a single round.

    Args:
        run: An open run.
        clusters: Cluster numbers, made to last.

    Returns:
        A figure, or None.
    """
    if len(clusters.rounds) < 2:
        return None
    flow = flow_of(clusters)
    links, nodes, middle = ribbons(flow)
    note = (
        "The height of a bar is the number of clients in a cluster, a ribbon those that "
        "go from one to the next. "
    )
    note += (
        f"All {len(clusters.clients)} clients; of those that are away, the last known "
        f"cluster. {MATCHED}"
    )
    if len(flow.at) < len(clusters.rounds):
        note += f" {len(flow.at)} of {len(clusters.rounds)} rounds are shown."
    note += " A chosen client is the line with dots."
    title = "How clients move between clusters"
    own = _own_path(run, clusters, flow, middle)
    return figure("flow", title, note, _flow_chart(flow), [*links, *nodes], 320, own)


def _flow_chart(flow: Flow) -> Layers:
    """Ribbons, bars on them, and the line of a chosen client."""
    scale = _scale(flow.names)
    x = alt.X(
        "x:Q",
        title="round",
        scale=alt.Scale(domain=[-0.1, len(flow.at) - 0.9], nice=False),
        axis=alt.Axis(
            values=list(range(len(flow.at))), labelExpr=f"{flow.at}[datum.value]", grid=False
        ),
    )
    base = alt.Chart(ROWS)
    ribbon = (
        base.transform_filter("datum.link !== null")
        .mark_area(opacity=0.4)
        .encode(
            x=x, y=alt.Y("low:Q", title="clients", axis=whole_axis()), y2="high:Q", detail="link:N"
        )
        .encode(
            color=alt.Color(
                "cluster:N", scale=scale, title="cluster", legend=alt.Legend(symbolOpacity=1)
            )
        )
        .encode(
            tooltip=["cluster:N", alt.Tooltip("to:N", title="goes to"), "clients:Q", "between:N"]
        )
    )
    bar = (
        base.transform_filter("datum.link === null")
        .mark_rect()
        .encode(x=x, x2="x2:Q", y="low:Q", y2="high:Q", color=alt.Color("cluster:N", scale=scale))
        .encode(tooltip=["cluster:N", "clients:Q", alt.Tooltip("between:N", title="round")])
    )
    own = (
        alt.Chart(OWN)
        .mark_line(color="#000", strokeWidth=2.5, point={"color": "#000", "size": 60})
        .encode(x="x:Q", y="y:Q")
    )
    return alt.layer(ribbon, bar, own)


def _own_path(run: Run, clusters: Matrix, flow: Flow, middle: NDArray[np.float64]) -> Own:
    """Each client's line through the middles of the bars it is in."""
    values = {
        run.name(client): [middle[i, level] for i, level in enumerate(flow.level[:, j].tolist())]
        for j, client in enumerate(clusters.clients)
    }
    return Own(["x", "y"], values, [[i] for i in range(len(flow.at))])


def flow_of(clusters: Matrix) -> Flow:
    """The few rounds and clusters that are drawn: beyond eight clusters the smallest are one,
    ``OTHERS``.

    Args:
        clusters: Cluster numbers, made to last.

    Returns:
        At most MOMENTS moments.
    """
    keep = evenly(range(len(clusters.rounds)), MOMENTS)
    values = carried(clusters.values)[keep]
    known = values[np.isfinite(values)].astype(int)
    numbers, counts = np.unique(known, return_counts=True)
    most = len(PALETTE) if len(numbers) <= len(PALETTE) else len(PALETTE) - 1
    shown = sorted(numbers[np.argsort(-counts, kind="stable")[:most]].tolist())
    names = [*map(str, shown), *([OTHERS] if len(numbers) > most else []), NOT_YET]
    place = {
        number: shown.index(number) if number in shown else len(shown)
        for number in numbers.tolist()
    }
    level = np.array(
        [[place[int(v)] if np.isfinite(v) else len(names) - 1 for v in row] for row in values]
    )
    if (level < len(names) - 1).all():
        names = names[:-1]
    return Flow([clusters.rounds[i] for i in keep], names, level)


def ribbons(flow: Flow) -> tuple[list[dict[str, Any]], list[dict[str, Any]], NDArray[np.float64]]:
    """(rows of the ribbons' edges, rows of the bars, the middle of every bar [moments,
    clusters]).

    Args:
        flow: What is drawn.

    Returns:
        Heights are numbers of clients.
    """
    count = len(flow.names)
    sizes = np.stack([np.bincount(row, minlength=count) for row in flow.level])
    bottom = np.cumsum(sizes, 1) - sizes
    nodes = [
        {
            "link": None,
            "x": i - BAR,
            "x2": i + BAR,
            "low": int(bottom[i, k]),
            "high": int(bottom[i, k] + sizes[i, k]),
        }
        | {"cluster": flow.names[k], "clients": int(sizes[i, k]), "between": f"round {flow.at[i]}"}
        for i in range(len(flow.at))
        for k in range(count)
        if sizes[i, k]
    ]
    links: list[dict[str, Any]] = []
    for i in range(len(flow.at) - 1):
        links += _between(flow, i, bottom)
    return links, nodes, bottom + sizes / 2


def _between(flow: Flow, i: int, bottom: NDArray[np.int64]) -> list[dict[str, Any]]:
    """The ribbons from moment i to the next."""
    count = len(flow.names)
    going = np.zeros((count, count), dtype=int)
    np.add.at(going, (flow.level[i], flow.level[i + 1]), 1)
    leaves, enters = bottom[i].astype(float), bottom[i + 1].astype(float)
    rows: list[dict[str, Any]] = []
    for a, b in zip(*np.nonzero(going), strict=True):
        n = int(going[a, b])
        fields = {
            "link": f"{i}-{a}-{b}",
            "cluster": flow.names[a],
            "to": flow.names[b],
            "clients": n,
        }
        fields["between"] = f"rounds {flow.at[i]} to {flow.at[i + 1]}"
        for step in range(STEPS + 1):
            share = step / STEPS
            smooth = share * share * (3 - 2 * share)
            low = leaves[a] + (enters[b] - leaves[a]) * smooth
            x = i + BAR + (1 - 2 * BAR) * share
            rows.append(
                {**fields, "x": round(x, 3), "low": round(low, 2), "high": round(low + n, 2)}
            )
        leaves[a] += n
        enters[b] += n
    return rows


def _scale(names: Sequence[str]) -> alt.Scale:
    grey: Mapping[str, str] = {NOT_YET: "#bbbbbb", OTHERS: "#777777"}
    plain = [name for name in names if name not in grey]
    return alt.Scale(
        domain=list(names), range=[*PALETTE[: len(plain)], *(grey[n] for n in names if n in grey)]
    )


def cluster_map(run: Run, clusters: Matrix) -> Figure:
    """Client × round, coloured by cluster.

    Args:
        run: An open run.
        clusters: Cluster numbers, made to last.

    Returns:
        A figure of at most MANY clients and COLUMNS rounds.
    """
    last = clusters.values[-1]
    order = sorted(range(len(clusters.clients)), key=lambda j: (np.nan_to_num(last[j], nan=-1), j))
    shown = evenly(order, MANY)
    rounds = evenly(range(len(clusters.rounds)), COLUMNS)
    rows = [
        {
            "client": run.name(clusters.clients[j]),
            "round": clusters.rounds[i],
            "cluster": str(int(clusters.values[i, j])),
        }
        for i in rounds
        for j in shown
        if np.isfinite(clusters.values[i, j])
    ]
    chart = (
        alt.Chart(ROWS)
        .mark_rect()
        .encode(
            x=alt.X("round:O", title="round", axis=alt.Axis(labelAngle=0)),
            y=alt.Y(
                "client:N",
                sort=[run.name(clusters.clients[j]) for j in shown],
                title="client",
                axis=alt.Axis(labelLimit=80),
            ),
            color=alt.Color("cluster:N", scale=colours(cluster_names(clusters)), title="cluster"),
            opacity=faded(),
            tooltip=["client:N", "round:O", "cluster:N"],
        )
    )
    note = (
        "A row is a client, in order of its last cluster; gaps are rounds in which "
        "nothing was reported of it."
    )
    note += f" {MATCHED}"
    if len(shown) < len(order):
        note += f" {len(shown)} of {len(order)} clients are shown, evenly spaced."
    if len(rounds) < len(clusters.rounds):
        note += f" {len(rounds)} of {len(clusters.rounds)} rounds are shown."
    return figure(
        "clusters",
        "Who is in which cluster",
        note,
        alt.layer(chart),
        rows,
        max(120, 13 * len(shown)),
    )


def cluster_names(clusters: Matrix) -> list[str]:
    """Every cluster that has ever been, in order.

    Args:
        clusters: Cluster numbers, made to last.

    Returns:
        Numbers as text.
    """
    values = clusters.values[np.isfinite(clusters.values)]
    return [str(int(value)) for value in np.unique(values)]
