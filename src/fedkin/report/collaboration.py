"""What a run's method reported of who learns from whom, read once for all charts of it."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fedkin.report.matrix import Matrix, Stack, carried, matched, note_lists, note_matrix
from fedkin.report.records import Client, Run
from fedkin.runs.bounds import COUNT
from fedkin.runs.record import CLUSTER, FEDERATION

MEMBERSHIP = "membership"  # the name of this note, whatever the method
ROUNDS = 60  # of memberships
# of memberships: how far, how many groups, how many clients have a tree
ALIKE, MOST, TREE = (0.15, 8, 4000)
CELLS, TIMES = 4_000_000, 20  # of weights: how many are read, and rounds


class Collaboration(NamedTuple):
    """``clusters``: numbers made to last (``matched``). ``weights``: {note: rows with a weight for
    every client}, of rounds of the second half. ``numbers``: what is one number a client;
    ``shared``: one number of the federation.
    """

    clusters: Matrix | None
    memberships: Stack | None
    weights: dict[str, Stack]
    numbers: dict[str, Matrix]
    shared: dict[str, Matrix]


class Groups(NamedTuple):
    """``of``: client → its last group; ``kind``: what a group is called: "cluster", "component", or
    "group" of clients whose memberships are alike.
    """

    kind: str
    of: dict[int, int]

    @property
    def names(self) -> list[str]:
        """Numbers of the groups as text, in rising order."""
        return [str(number) for number in sorted(set(self.of.values()))]

    def members(self, group: str) -> list[int]:
        """Args:
            group: Its name, a number as text.

        Returns:
            Numbers of clients.
        """
        return [client for client, number in self.of.items() if str(number) == group]


def read_collaboration(run: Run) -> Collaboration:
    """All notes that those charts can show.

    Args:
        run: An open run.

    Returns:
        What is not reported is None, or {}.
    """
    kinds = run.rows(
        "SELECT name, min(client), max(client), count(DISTINCT round) FROM notes GROUP BY name"
    )
    clusters = _whole(note_matrix(run, CLUSTER))
    memberships = note_lists(run, MEMBERSHIP, ROUNDS)
    names = [name for name, _, most, _ in kinds if most >= 0 and name not in (CLUSTER, MEMBERSHIP)]
    weights = {name: rows for name in names if (rows := _weights(run, name)) is not None}
    numbers = {n: m for n in names if n not in weights and (m := note_matrix(run, n)) is not None}
    both = [
        name for name, least, most, rounds in kinds if least == most == FEDERATION and rounds > 1
    ]
    shared = {
        name: matrix
        for name in both
        if (matrix := note_matrix(run, name, [FEDERATION])) is not None
    }
    return Collaboration(
        None if clusters is None else matched(clusters), memberships, weights, numbers, shared
    )


def _whole(clusters: Matrix | None) -> Matrix | None:
    """Cluster numbers, unless a stranger's record has others than whole ones."""
    if clusters is None:
        return None
    known = clusters.values[np.isfinite(clusters.values)]
    return clusters if (np.abs(known) <= COUNT).all() and (known == known.round()).all() else None


def groups_of(collaboration: Collaboration) -> Groups | None:
    """The groups at the end: clusters; where there are memberships, clients with like ones; None
    with neither.

    Args:
        collaboration: All notes on who learns from whom.

    Returns:
        {client: its group}, with what a group is called.
    """
    if collaboration.clusters is not None:
        return _groups(CLUSTER, collaboration.clusters)
    stack = collaboration.memberships
    if stack is None or stack.values.shape[2] < 2:
        return None
    alike = _alike(np.nan_to_num(stack.last()))
    if alike is None:
        return _groups("component", stack.largest())
    return Groups("group", dict(zip(stack.clients, alike, strict=True)))


def shares(clients: Mapping[int, Client]) -> dict[int, NDArray[np.float64]]:
    """The label distribution of every client that has one: [classes], of sum 1.

    Args:
        clients: {number: client}.

    Returns:
        {client: [classes]}; clients whose labels are unknown are left out.
    """
    width = max((len(client.histogram) for client in clients.values()), default=0)
    distributions = {}
    for k, client in clients.items():
        if total := sum(client.histogram):
            counts = np.array(client.histogram + [0] * (width - len(client.histogram)), dtype=float)
            distributions[k] = counts / total
    return distributions


def explained(groups: Groups, distributions: Mapping[int, NDArray[np.float64]]) -> float | None:
    """Which part of the differences between clients' label distributions (squared distances to
    their mean) lies between the groups: 1 where all members of a group are alike, near 0 where
    groups and labels are unrelated. None where there are no differences.

    Args:
        groups: Of the clients.
        distributions: {client: [classes]}, each of sum 1.

    Returns:
        A share in 0..1.
    """
    clients = [k for k in groups.of if k in distributions]
    rows = np.array([distributions[k] for k in clients])
    total = float(((rows - rows.mean(0)) ** 2).sum()) if clients else 0.0
    if total <= 1e-12:
        return None
    numbers = np.array([groups.of[k] for k in clients])
    inside = sum(
        float(((part - part.mean(0)) ** 2).sum())
        for n in set(numbers)
        if len(part := rows[numbers == n])
    )
    return 1 - inside / total


def _alike(last: NDArray[np.float64]) -> list[int] | None:
    """Numbers of the groups of rows (memberships) that differ by less than ``ALIKE`` in total
    variation, on average: two groups can have the same largest component. None where there are no
    such groups, but a continuum.
    """
    if not 2 <= len(last) <= TREE:
        return None
    from scipy.cluster.hierarchy import fcluster, linkage  # late: scipy is slow to load

    labels = fcluster(linkage(last, "average", "cityblock"), 2 * ALIKE, "distance") - 1
    count = int(labels.max()) + 1
    if count > max(2 * last.shape[1], MOST):
        return None
    means = [last[labels == g].mean(0) for g in range(count)]
    order = sorted(range(count), key=lambda g: (int(means[g].argmax()), -float(means[g].max())))
    return [order.index(g) for g in labels.tolist()]


def _groups(kind: str, matrix: Matrix) -> Groups:
    last = carried(matrix.values)[-1]
    return Groups(
        kind, {k: int(v) for k, v in zip(matrix.clients, last, strict=True) if np.isfinite(v)}
    )


def _weights(run: Run, name: str) -> Stack | None:
    """A note that gives every client a weight for every client, in rounds of the second half."""
    first = run.rows("SELECT value FROM notes WHERE name = ? AND client >= 0 LIMIT 1", name)
    one = run.read(first[0][0])
    count = len(run.clients)
    every = isinstance(one, dict) or (isinstance(one, list) and len(one) == count)
    if not every or count < 2:
        return None
    stack = note_lists(run, name, max(1, min(2 * TIMES, CELLS // count**2)))
    if stack is None:
        return None
    half = len(stack.rounds) // 2
    return Stack(stack.rounds[half:], stack.clients, stack.values[half:], stack.among)
