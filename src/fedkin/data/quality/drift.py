"""Columns that mean something else at one client: another unit, other words, nothing at all."""

from collections import Counter
from collections.abc import Sequence

import numpy as np

from fedkin.core.errors import some
from fedkin.data.arrays import Array, Ints
from fedkin.data.quality.parsed_columns import ParsedColumn
from fedkin.data.quality.problem import Problem

FEWEST = 10  # rows of a client that are enough to say so
CLIENTS = 3  # … of whom there must be so many
FAR = 6.0  # spreads within a client, between its median and that of the clients' medians
# The same among all others, which are then unlike each other anyway: at most FAR / APART of it
APART = 4.0
EMPTY, FULL = 0.95, 0.3  # shares of missing cells at a client, and at the middle one
UNSHARED = 0.9  # share of a client's rows whose value no other client has


def drifting(columns: Sequence[ParsedColumn], owner: Ints, names: Sequence[str]) -> list[Problem]:
    """Columns in which single clients are unlike all the others, too far for people who merely
    differ.

    Args:
        columns: all that a model would see.
        owner: [n] the number of each row's client.
        names: of the clients.

    Returns:
        At most one problem a column; it names the clients.
    """
    sizes = np.bincount(owner, minlength=len(names))
    judged = np.flatnonzero(sizes >= FEWEST)
    if len(judged) < CLIENTS:
        return []
    order = np.argsort(owner, kind="stable").astype(np.int64)
    rows = np.split(order, np.cumsum(sizes)[:-1])
    problems = []
    for column in columns:
        parts = [column.cells[rows[k]] for k in judged]
        for ways, says in (
            (_empty, "is empty at"),
            (_number if column.number else _words, _HOW[column.number]),
        ):
            odd = ways(parts)
            if 0 < len(odd) <= max(1, len(judged) // 4):
                problems.append(_problem(column, says, [names[judged[k]] for k in odd], len(names)))
                break
    return problems


_HOW = {
    True: "lies far from everybody else's numbers at",
    False: "holds words that no other client has at",
}


def _problem(column: ParsedColumn, says: str, clients: list[str], everybody: int) -> Problem:
    return Problem(
        "drift",
        f"column {column.name!r} {says} {len(clients)} of {everybody} clients ({some(clients)})",
        "it may be written in another unit or code there; write it alike in the files, or "
        "leave it out",
        {"data.drop": [column.name]},
        len(clients) / everybody,
        (column.name,),
        sure=False,
    )


def _empty(parts: Sequence[Array]) -> list[int]:
    shares = np.array([np.isnan(part).mean() for part in parts])
    if np.median(shares) > FULL:
        return []
    return [int(k) for k in np.flatnonzero(shares >= EMPTY)]


def _number(parts: Sequence[Array]) -> list[int]:
    """Clients whose middle half lies far from all the other clients' medians, which lie near each
    other.
    """
    known = [part[~np.isnan(part)] for part in parts]
    if any(len(part) < FEWEST // 2 for part in known):
        return []
    quarters = np.array([np.percentile(part, (25, 50, 75)) for part in known])
    middle = quarters[:, 1]
    spread = float(np.median(quarters[:, 2] - quarters[:, 0])) / 1.349
    if spread <= 0:
        return []
    far = np.abs(middle - np.median(middle)) > FAR * spread
    others = middle[~far]
    near = bool(len(others)) and float(np.ptp(others)) <= APART * spread
    between = (
        float(np.abs(middle[far][:, None] - others).min()) if far.any() and len(others) else 0.0
    )
    return [int(k) for k in np.flatnonzero(far)] if near and between > APART * spread else []


def _words(parts: Sequence[Array]) -> list[int]:
    held = [set(np.unique(part[~np.isnan(part)]).tolist()) for part in parts]
    clients = Counter(value for one in held for value in one)  # of each value, how many have it
    common = {value for value, count in clients.items() if count > 1}
    unexpected = [
        np.array([value not in common for value in part[~np.isnan(part)].tolist()])
        for part in parts
    ]
    alone = np.array([one.mean() if len(one) else 0.0 for one in unexpected])
    return [int(k) for k in np.flatnonzero(alone >= UNSHARED)] if np.median(alone) < 0.5 else []
