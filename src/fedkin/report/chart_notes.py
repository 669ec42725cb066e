"""What methods tell: who is in which cluster, who is made of which components, and their numbers over rounds."""

from typing import Any

import altair as alt
import numpy as np

from fedkin.report.chart_rounds import over_time
from fedkin.report.charts import MANY, ROWS, Figure, colours, evenly, faded, figure
from fedkin.report.matrix import Matrix, matched, told
from fedkin.report.records import Run, number

COLUMNS = 100  # columns of a heat map
MATCHED = "Cluster numbers are matched over rounds by their members: a group keeps its colour."
FIGURES = 6  # of numbers over rounds


def told_figures(run: Run) -> list[Figure]:
    """The figures of all notes that can be drawn: cluster, membership, and up to six numbers."""
    names = [name for (name,) in run.rows("SELECT DISTINCT name FROM notes WHERE client >= 0 ORDER BY name")]
    found: list[Figure] = []
    clusters = told(run, "cluster") if "cluster" in names else None
    if clusters is not None:
        clusters = matched(clusters)
        found += [cluster_map(run, clusters), cluster_sizes(clusters)]
    if "membership" in names:
        found += memberships(run)
    others = [(name, told(run, name)) for name in names if name not in ("cluster", "membership")]
    return found + [over_time(matrix, name) for name, matrix in others if matrix is not None][:FIGURES]


def cluster_map(run: Run, clusters: Matrix) -> Figure:
    """Client × round, coloured by cluster."""
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
            color=alt.Color("cluster:N", scale=colours(_cluster_names(clusters)), title="cluster"),
            opacity=faded(),
            tooltip=["client:N", "round:O", "cluster:N"],
        )
    )
    note = "A row is a client, in order of its last cluster; gaps are rounds in which nothing was told of it."
    note += f" {MATCHED}"
    if len(shown) < len(order):
        note += f" {len(shown)} of {len(order)} clients are shown, evenly spaced."
    if len(rounds) < len(clusters.rounds):
        note += f" {len(rounds)} of {len(clusters.rounds)} rounds are shown."
    return figure("clusters", "Who is in which cluster", note, alt.layer(chart), rows, max(120, 13 * len(shown)))


def cluster_sizes(clusters: Matrix) -> Figure:
    """How many clients each cluster has, round by round; all clients counted."""
    names = _cluster_names(clusters)
    rows: list[dict[str, Any]] = []
    for i in evenly(range(len(clusters.rounds)), COLUMNS):
        values = clusters.values[i]
        for name in names:
            rows.append({"round": clusters.rounds[i], "cluster": name, "clients": int((values == int(name)).sum())})
    chart = (
        alt.Chart(ROWS)
        .mark_bar()
        .encode(
            x=alt.X("round:O", title="round", axis=alt.Axis(labelAngle=0)),
            y=alt.Y("clients:Q", title="clients", axis=alt.Axis(tickMinStep=1, format="d")),
            color=alt.Color("cluster:N", scale=colours(names), title="cluster"),
            tooltip=["round:O", "cluster:N", "clients:Q"],
        )
    )
    note = f"All clients of which a cluster was told in that round. {MATCHED}"
    return figure("cluster-sizes", "How large the clusters are", note, alt.layer(chart), rows, 180)


def memberships(run: Run) -> list[Figure]:
    """Client × component at the last round that has it, and the mean of each component over rounds."""
    rows = run.rows(
        "SELECT round, client, value FROM notes WHERE name = 'membership' AND client >= 0 ORDER BY round, client"
    )
    values = run.read_all([text for _, _, text in rows])
    read = [(at, client, value) for (at, client, _), value in zip(rows, values, strict=True)]
    lists = [
        (at, client, v)
        for at, client, v in read
        if isinstance(v, list) and v and all(isinstance(x, (int, float)) for x in v)
    ]
    if not lists:
        return []
    last = {client: value for _, client, value in lists}  # rows are in order of rounds
    by_round: dict[int, list[list[float]]] = {}
    for at, _, value in lists:
        by_round.setdefault(at, []).append(value)
    parts = max(len(value) for value in last.values())
    return [_membership_map(run, last), _component_means(by_round, parts)]


def _membership_map(run: Run, last: dict[int, list[float]]) -> Figure:
    order = sorted(last, key=lambda k: (int(np.argmax(last[k])), -max(last[k]), k))
    shown = evenly(order, 4 * MANY)
    rows = [{"client": run.name(k), "component": n, "weight": _r(w)} for k in shown for n, w in enumerate(last[k])]
    few = len(shown) <= MANY
    chart = (
        alt.Chart(ROWS)
        .mark_rect()
        .encode(
            x=alt.X(
                "client:N",
                sort=[run.name(k) for k in shown],
                title="client",
                axis=alt.Axis(labelAngle=-60, labelLimit=80, labels=few, ticks=few),
            ),
            y=alt.Y("component:O", title="component"),
            color=alt.Color("weight:Q", scale=alt.Scale(scheme="blues", domain=[0, 1]), title="weight"),
            opacity=faded(),
            tooltip=["client:N", "component:O", alt.Tooltip("weight:Q", format=".3f")],
        )
    )
    note = "The last memberships told, clients in order of their largest component."
    if len(shown) < len(order):
        note += f" {len(shown)} of {len(order)} clients are shown, evenly spaced in this order."
    height = max(100, 30 * max(len(v) for v in last.values()))
    return figure("membership", "Who is made of which component", note, alt.layer(chart), rows, height)


def _component_means(by_round: dict[int, list[list[float]]], parts: int) -> Figure:
    rounds = evenly(sorted(by_round), COLUMNS)
    names = [str(n) for n in range(parts)]
    rows = [
        {
            "round": at,
            "component": str(n),
            "mean": _r(float(np.mean([v[n] for v in by_round[at] if len(v) > n] or [0]))),
        }
        for at in rounds
        for n in range(parts)
    ]
    chart = (
        alt.Chart(ROWS)
        .mark_line(point=len(rounds) <= 30)
        .encode(
            x=alt.X(
                "round:Q",
                title="round",
                axis=alt.Axis(format="d", tickMinStep=1),
                scale=alt.Scale(zero=False, nice=False),
            ),
            y=alt.Y("mean:Q", title="mean weight"),
            color=alt.Color("component:N", scale=colours(names), title="component"),
            tooltip=["round:Q", "component:N", alt.Tooltip("mean:Q", format=".3f")],
        )
    )
    note = "Mean over the clients of which a membership was told in that round."
    return figure("components", "The components over rounds", note, alt.layer(chart), rows, 200)


def _r(value: float) -> float | None:
    return number(round(float(value), 4))


def _cluster_names(clusters: Matrix) -> list[str]:
    values = clusters.values[np.isfinite(clusters.values)]
    return [str(int(value)) for value in np.unique(values)]
