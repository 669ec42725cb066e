"""Dirichlet partitions: over clients for each class (COMET, PersFL DS-2), or over classes for each
client.
"""

from typing import Literal

import numpy as np

from fedkin.core.errors import FedkinError
from fedkin.data.arrays import Array, Ints
from fedkin.data.partitions.shares import (
    Partition,
    assign_owners,
    class_count,
    gather,
    positive,
    round_columns,
    round_rows,
    whole,
)


def dirichlet(
    labels: Array,
    clients: int,
    rng: np.random.Generator,
    *,
    alpha: float = 0.1,
    over: Literal["clients", "classes"] = "clients",
    floor: int = 10,
) -> Partition:
    """Every sample to exactly one client, classes unevenly; smaller ``alpha`` is more uneven.

    over="clients" (COMET section V-A; PersFL DS-2): for each class, shares over the clients ~
    Dir(alpha), so sizes are very unequal. Clients with fewer than ``floor`` samples are filled up
    to it from the largest holders, which shrink to one common level. Reading: what is handed over
    comes in runs of one donor and one class, so that a filled client is as one-sided as the others.
    over="classes": for each client, shares over the classes ~ Dir(alpha), sizes equal. Clients are
    served in random order until a class runs out; what is then missing comes from what is left, in
    runs of one class. truth["mixture"] [clients, classes] is then the mixture that was asked for.

    Args:
        labels: [n] classes.
        clients: How many.
        rng: What draws.
        alpha: The concentration, above 0; 0.1 is very uneven, 100 nearly even.
        over: Whose shares are drawn: those of the "clients", or those of the "classes".
        floor: The fewest samples of a client (over="clients").

    Returns:
        Rows a client, and what the generator knows.

    Raises:
        FedkinError: A number is out of range, or there are too few samples for the floor.
    """
    classes = class_count(labels, clients, "dirichlet")
    positive("dirichlet", alpha=alpha)
    whole("dirichlet", "floor", floor, 0)
    if over not in ("clients", "classes"):
        raise FedkinError(
            f"partition dirichlet: over={over!r} is not known: use 'clients' or 'classes'"
        )
    if clients * floor > len(labels):
        raise FedkinError(
            f"partition dirichlet: {clients} clients with floor={floor} need "
            f"{clients * floor} samples, but there are "
            f"{len(labels)}: set floor to {len(labels) // clients} or less"
        )
    if over == "classes":
        return _over_classes(labels, clients, classes, alpha, rng)
    pools = np.bincount(labels, minlength=classes)
    shares = rng.dirichlet(np.full(clients, alpha), size=classes).T
    owner = assign_owners(labels, round_columns(shares, pools), rng)
    return Partition(gather(fill(owner, labels, clients, floor, rng), clients), {})


def persfl_ds2(
    labels: Array, clients: int, rng: np.random.Generator, *, alpha: float = 0.9, floor: int = 10
) -> Partition:
    """PersFL's data split 2: each class is shared over the users by Dir(0.9); sizes differ.

    Args:
        labels: [n] classes.
        clients: How many.
        rng: What draws.
        alpha: The concentration.
        floor: The fewest samples of a client.

    Returns:
        As ``dirichlet`` gives it.
    """
    return dirichlet(labels, clients, rng, alpha=alpha, over="clients", floor=floor)


def fill(owner: Ints, labels: Array, clients: int, floor: int, rng: np.random.Generator) -> Ints:
    """New owners, so that everybody holds ``floor`` samples; the largest holders give, and shrink
    to one level.

    Needs clients·floor <= samples. No loop over clients, samples or attempts.

    Args:
        owner: [n] the client of each sample.
        labels: [n] classes.
        clients: How many.
        floor: The fewest samples of a client.
        rng: What draws who gives what to whom.

    Returns:
        [n] the new client of each sample.
    """
    sizes = np.bincount(owner, minlength=clients)
    missing = np.maximum(floor - sizes, 0)
    give = _surplus_above_level(sizes, int(missing.sum()))
    if not missing.any():
        return owner
    order = np.lexsort((rng.random(len(owner)), owner))
    rank = np.empty(len(owner), np.int64)
    rank[order] = np.arange(len(owner)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    moved = np.flatnonzero(rank < give[owner])
    moved = moved[np.lexsort((labels[moved], owner[moved]))]  # runs of one donor and one class
    takers = rng.permutation(clients)
    filled = owner.copy()
    filled[moved] = np.repeat(takers, missing[takers])
    return filled


def _surplus_above_level(sizes: Ints, total: int) -> Ints:
    """What each holder gives, so that together they give ``total`` and the largest end on one level
    (±1).
    """
    # smallest level that asks for no more than total; halving: about 20 steps
    low, high = (0, int(sizes.max()))
    while low < high:
        level = (low + high) // 2
        if np.maximum(sizes - level, 0).sum() > total:
            low = level + 1
        else:
            high = level
    give = np.maximum(sizes - low, 0)
    give[np.flatnonzero(sizes >= low)[: total - give.sum()]] += 1
    return give


def _over_classes(
    labels: Array, clients: int, classes: int, alpha: float, rng: np.random.Generator
) -> Partition:
    sizes = np.array([len(part) for part in np.array_split(np.arange(len(labels)), clients)])
    mixture = rng.dirichlet(np.full(classes, alpha), size=clients)
    wanted = round_rows(mixture * sizes[:, None], sizes)
    pools = np.bincount(labels, minlength=classes)
    turn = rng.permutation(clients)
    served = np.empty_like(wanted)
    served[turn] = np.diff(np.minimum(np.cumsum(wanted[turn], axis=0), pools), axis=0, prepend=0)
    owner = assign_owners(labels, served, rng)
    left = np.flatnonzero(owner < 0)
    left = left[np.argsort(labels[left], kind="stable")]
    turn = rng.permutation(clients)
    owner[left] = np.repeat(turn, (sizes - served.sum(axis=1))[turn])
    return Partition(gather(owner, clients), {"mixture": mixture})
