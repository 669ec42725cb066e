"""The nearest neighbours of each client, by weights, memberships or clusters of the record."""

import numpy as np
from numpy.typing import NDArray

from fedkin.report.collaboration import Collaboration
from fedkin.report.matrix import carried
from fedkin.report.records import Run, evenly

ROUNDS = 40  # rounds that are looked at
NEAREST = 8
DIGITS = 9  # equal up to them is equal: the last bits of a product differ between processors


def nearest_clients(
    run: Run, collaboration: Collaboration
) -> tuple[str, dict[int, list[tuple[int, float]]]]:
    """(what the number means, client → its nearest others with their numbers in [0, 1], largest
    first).

    Weights between clients if the method has them; else the inner product of memberships, the
    chance that two draws of a component agree; else the share of rounds in one cluster. Nothing
    where the method reports none of these.

    Args:
        run: An open run.
        collaboration: All notes on who learns from whom.

    Returns:
        At most NEAREST others a client; ("", {}) where there is nothing.
    """
    if collaboration.weights:
        name, stack = next(iter(collaboration.weights.items()))
        return f"mean weight ({name})", _nearest(stack.mean(), stack.clients, list(run.clients))
    if collaboration.memberships is not None and collaboration.memberships.values.shape[2] > 1:
        last = np.nan_to_num(collaboration.memberships.last())
        clients = collaboration.memberships.clients
        return "inner product of the last memberships", _nearest(last @ last.T, clients, clients)
    if collaboration.clusters is not None:
        together = _together(collaboration.clusters.values)
        return "share of rounds in the same cluster", _nearest(
            together, collaboration.clusters.clients, collaboration.clusters.clients
        )
    return "", {}


def _together(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """[clients, clients]: in which share of the rounds both were reported in one cluster."""
    keep = evenly(range(len(values)), ROUNDS)
    rows = carried(values)[keep].astype(np.float32)
    count = np.zeros((rows.shape[1], rows.shape[1]), dtype=np.float32)
    for row in rows:
        count += row[:, None] == row[None, :]  # nan equals nothing
    return count / len(keep)


def _nearest(
    table: NDArray[np.float64], rows: list[int], columns: list[int]
) -> dict[int, list[tuple[int, float]]]:
    neighbours = {}
    for client, values in zip(rows, table, strict=True):
        order = np.argsort(-values.round(DIGITS), kind="stable")[: NEAREST + 1].tolist()
        neighbours[client] = [
            (columns[j], float(values[j])) for j in order if columns[j] != client and values[j] > 0
        ]
    return {client: others[:NEAREST] for client, others in neighbours.items()}
