"""Whose models or predictions each client takes, where a method has weights between clients
(FedFomo, KT-pFL).
"""

from itertools import pairwise
from typing import Any

import altair as alt
import numpy as np
from numpy.typing import NDArray

from fedkin.report.charts.base import CHOSEN, MANY, ROWS, Figure, figure
from fedkin.report.formatting import many
from fedkin.report.matrix import Stack
from fedkin.report.records import Run

BINS = 50  # groups of neighbours that many clients are drawn as


def weight_map(run: Run, name: str, stack: Stack, likeness: list[int]) -> Figure:
    """Learner × source, both in the order ``likeness``; many clients as bins of
    neighbours in it.

    Args:
        run: An open run.
        name: Of the note.
        stack: Weights [rounds, clients, sources].
        likeness: Numbers of the clients, in order.

    Returns:
        A figure.
    """
    weights = stack.mean()
    place = {client: j for j, client in enumerate(stack.clients)}
    # a row has a weight for each, in their order
    sources = {client: n for n, client in enumerate(run.clients)}
    order = [client for client in likeness if client in place]
    table = weights[[place[k] for k in order]][:, [sources[k] for k in order]]
    rows = _cells(run, order, table) if len(order) <= MANY else _bins(order, table)
    names = list(dict.fromkeys(row["client"] for row in rows))
    axis = alt.Axis(
        labelAngle=-60, labelLimit=80, labels=len(order) <= MANY, ticks=len(order) <= MANY
    )
    x = alt.X("source:N", sort=names, title="learns from", axis=axis)
    y = alt.Y(
        "client:N", sort=names, title="client", axis=alt.Axis(labelLimit=80, labels=axis["labels"])
    )
    lit: Any = alt.condition(
        f"{CHOSEN} === null || datum.client === {CHOSEN} || datum.source === {CHOSEN}",
        alt.value(1),
        alt.value(0.2),
    )
    cells = (
        alt.Chart(ROWS)
        .mark_rect()
        .encode(x=x, y=y, opacity=lit)
        .encode(
            color=alt.Color(
                "weight:Q", scale=alt.Scale(scheme="blues", domainMin=0), title="weight"
            )
        )
        .encode(tooltip=["client:N", "source:N", alt.Tooltip("weight:Q", format=".3f")])
    )
    rounds = many(len(stack.rounds), "round")
    note = (
        f"The weights “{name}”, mean over {rounds} from round {stack.rounds[0]} on. A row "
        "is a client, its cells are "
    )
    note += (
        "those it learns from. Clients with like labels stand beside each other: dark "
        "blocks at the diagonal are "
    )
    note += "groups of mutual neighbours. A chosen client's row and column stay."
    if len(order) > MANY:
        note = (
            note.split(" A chosen")[0]
            + f" {len(order)} clients as {len(names)} bins of neighbours: a cell is the "
        )
        note += "weight that a client of the row gives to all of the column together, on average."
    return figure(f"weights-{name}", "Who learns from whom", note, alt.layer(cells), rows, 420)


def by_likeness(clients: list[int], distributions: dict[int, NDArray[np.float64]]) -> list[int]:
    """The clients in an order in which those with like label distributions are neighbours; as given
    without labels.

    Args:
        clients: Their numbers.
        distributions: client → its label distribution [classes], of sum 1.

    Returns:
        The same numbers.
    """
    known = [k for k in clients if k in distributions]
    if len(known) < 3:
        return clients
    rows = np.array([distributions[k] for k in known])
    if len(known) > 3000:  # the tree takes the square of it
        ranked = sorted(
            known, key=lambda k: (int(distributions[k].argmax()), -float(distributions[k].max()))
        )
    else:
        from scipy.cluster.hierarchy import leaves_list, linkage  # late: scipy is slow to load

        ranked = [known[i] for i in leaves_list(linkage(rows, "average"))]
    return [*ranked, *(k for k in clients if k not in distributions)]


def _cells(run: Run, order: list[int], table: NDArray[np.float64]) -> list[dict[str, Any]]:
    return [
        {"client": run.name(a), "source": run.name(b), "weight": round(float(table[i, j]), 4)}
        for i, a in enumerate(order)
        for j, b in enumerate(order)
    ]


def _bins(order: list[int], table: NDArray[np.float64]) -> list[dict[str, Any]]:
    cuts = np.linspace(0, len(order), BINS + 1).astype(int)
    summed = (
        np.add.reduceat(np.add.reduceat(table, cuts[:-1], 0), cuts[:-1], 1) / np.diff(cuts)[:, None]
    )
    names = [f"{a + 1} to {b}" for a, b in pairwise(cuts.tolist())]
    return [
        {"client": names[i], "source": names[j], "weight": round(float(summed[i, j]), 4)}
        for i in range(BINS)
        for j in range(BINS)
    ]
