"""Partitions in which a client holds a few classes: PersFL DS-1 and DS-3, CGPFL's two classes."""

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

Pairs = Literal["random", "balanced", "consecutive"]
WIDEST = 50.0  # sigma of a log-normal: draws beyond it leave what a float can hold


def choose_classes(
    clients: int, classes: int, each: int, pairs: Pairs, rng: np.random.Generator, name: str
) -> Ints:
    """Which ``each`` distinct classes a client holds, [clients, each].

    "random": independent draws; "balanced": random, but every class has equally many holders (±1);
    "consecutive": client i holds (i, i+1, …) mod classes, as in pFedMe's public generator.

    Args:
        clients: How many.
        classes: How many there are.
        each: How many a client holds.
        pairs: How they are drawn: "random", "balanced" or "consecutive".
        rng: What draws.
        name: Of the partition, for messages.

    Returns:
        [clients, each] int64: class numbers from 0, no class twice in a row.

    Raises:
        FedkinError: ``each`` is no number in 1..classes, or ``pairs`` is not known.
    """
    whole(name, "classes", each, 1, classes)
    if pairs == "consecutive":
        return (np.arange(clients)[:, None] + np.arange(each)) % classes
    if pairs == "random":
        return np.argsort(rng.random((clients, classes)), axis=1)[:, :each]
    if pairs != "balanced":
        raise FedkinError(
            f"partition {name}: pairs={pairs!r} is not known: use 'random', 'balanced' or "
            "'consecutive'"
        )
    held = np.zeros(classes, dtype=np.int64)
    chosen = np.empty((clients, each), dtype=np.int64)
    ties = rng.random((clients, classes))
    for k in range(clients):
        chosen[k] = np.argsort(held + ties[k])[:each]
        held[chosen[k]] += 1
    return chosen


def two_class(
    labels: Array,
    clients: int,
    rng: np.random.Generator,
    *,
    low: int = 400,
    high: int = 5000,
    pairs: Pairs = "random",
    scale: Literal["demand", "all"] = "demand",
) -> Partition:
    """CGPFL section 6: two classes a client, size uniform in low..high, half of it from each class.

    Where a class is wanted more often than it exists, scale="demand" shrinks the demand on that
    class to its pool; scale="all" shrinks every demand by the factor of the scarcest class, which
    keeps the ratio of the sizes. Samples nobody wants stay unused. truth: "classes" [clients, 2],
    "asked" [clients] (the sizes before scaling).

    Args:
        labels: [n] classes.
        clients: How many.
        rng: What draws.
        low: The smallest size of a client, in samples.
        high: The largest.
        pairs: As in ``choose_classes``.
        scale: "demand" or "all": what gives way where a class is scarce.

    Returns:
        Rows a client, and what the generator knows.

    Raises:
        FedkinError: A number is out of range, or a class cannot serve its holders.
    """
    classes = class_count(labels, clients, "two_class")
    whole("two_class", "low", low, 2)
    whole("two_class", "high", high, 2)
    if low > high:
        raise FedkinError(f"partition two_class: low={low} is above high={high}: swap them")
    if scale not in ("demand", "all"):
        raise FedkinError(
            f"partition two_class: scale={scale!r} is not known: use 'demand' or 'all'"
        )
    chosen = choose_classes(clients, classes, 2, pairs, rng, "two_class")
    asked = rng.integers(low, high, size=clients, endpoint=True)
    demand = np.zeros((clients, classes))
    np.put_along_axis(
        demand, chosen, np.stack([(asked + 1) // 2, asked // 2], axis=1).astype(float), axis=1
    )
    pools = np.bincount(labels, minlength=classes)
    factor = np.minimum(pools / np.maximum(demand.sum(axis=0), 1), 1.0)
    counts = np.floor(demand * (factor if scale == "demand" else factor.min()) + 1e-9).astype(
        np.int64
    )
    _at_least_one(counts, chosen, "two_class")
    return Partition(
        gather(assign_owners(labels, counts, rng), clients),
        {"classes": np.sort(chosen), "asked": asked},
    )


def persfl_ds1(
    labels: Array,
    clients: int,
    rng: np.random.Generator,
    *,
    classes: int = 4,
    pairs: Pairs = "balanced",
) -> Partition:
    """PersFL's data split 1: the same total for every user, ``classes`` classes each, a different
    share of each.

    Reading: shares are uniform random numbers, balanced so that the classes are used about evenly;
    the common total is the largest that no class's pool forbids, and the remaining samples stay
    unused. truth["classes"] [clients, classes].

    Args:
        labels: [n] classes.
        clients: How many.
        rng: What draws.
        classes: How many a client holds.
        pairs: As in ``choose_classes``.

    Returns:
        Rows a client, all of one total, and what the generator knows.

    Raises:
        FedkinError: A number is out of range, or there are too few samples.
    """
    available = class_count(labels, clients, "persfl_ds1")
    chosen = choose_classes(clients, available, classes, pairs, rng, "persfl_ds1")
    held = np.zeros((clients, available), dtype=bool)
    np.put_along_axis(held, chosen, True, axis=1)
    pools = np.bincount(labels, minlength=available)
    shares = np.where(held, rng.uniform(0.2, 1.0, held.shape), 0.0)
    target = pools / pools.sum() * clients
    # rows to 1, columns towards the pools; a few sweeps suffice, the rest is the common total's
    for _ in range(20):
        shares *= (target / np.maximum(shares.sum(axis=0), 1e-12))[None]
        shares /= np.maximum(shares.sum(axis=1, keepdims=True), 1e-12)
    empty = np.flatnonzero(held.any(axis=0) & (pools == 0))
    if len(empty):
        raise FedkinError(
            f"partition persfl_ds1: class {empty[0]} has 0 samples, but its holders need some: "
            "number the classes that occur from 0"
        )
    # Rounding can add one sample for each holder, so that much of every pool is kept in reserve.
    used = held.any(axis=0)
    total = int(((pools - held.sum(axis=0))[used] / shares.sum(axis=0)[used]).min())
    if total < classes:
        raise FedkinError(
            f"partition persfl_ds1: {clients} clients with {classes} classes each leave fewer "
            "than one sample a class: "
            "ask for fewer clients or classes"
        )
    counts = round_rows(shares * total, np.full(clients, total))
    return Partition(
        gather(assign_owners(labels, counts, rng), clients), {"classes": np.sort(chosen)}
    )


def persfl_ds3(
    labels: Array,
    clients: int,
    rng: np.random.Generator,
    *,
    classes: int = 2,
    sigma: float = 2.0,
    floor: int = 10,
    pairs: Pairs = "balanced",
) -> Partition:
    """PersFL's data split 3: two classes a user, sizes from a log-normal(0, 2).

    Reading (as pFedMe's public generator; the paper names pFedMe as the origin): every user first
    gets ``floor`` samples, divided over its classes; each class's remaining samples go to its
    holders in proportion to log-normal draws, one a user and class (the log-normal's mu cancels
    out). All samples of classes that somebody holds are used. truth["classes"] [clients, classes].

    Args:
        labels: [n] classes.
        clients: How many.
        rng: What draws.
        classes: How many a client holds.
        sigma: The log-normal's standard deviation, of the logarithm; at most WIDEST.
        floor: Samples that everybody gets first.
        pairs: As in ``choose_classes``.

    Returns:
        Rows a client, and what the generator knows.

    Raises:
        FedkinError: A number is out of range, or a class has too few samples for the floor.
    """
    available = class_count(labels, clients, "persfl_ds3")
    positive("persfl_ds3", sigma=sigma)
    if sigma > WIDEST:
        raise FedkinError(
            f"partition persfl_ds3: sigma={sigma!r} is above {WIDEST:g}, where one holder has all "
            "of a class: lower it"
        )
    whole("persfl_ds3", "floor", floor, 0)
    chosen = choose_classes(clients, available, classes, pairs, rng, "persfl_ds3")
    base = np.zeros((clients, available), dtype=np.int64)
    first = floor // classes + (np.arange(classes) < floor % classes)
    np.put_along_axis(base, chosen, np.broadcast_to(np.maximum(first, 1), chosen.shape), axis=1)
    pools = np.bincount(labels, minlength=available)
    rest = pools - base.sum(axis=0)
    short = np.flatnonzero(rest < 0)
    if len(short):
        raise FedkinError(
            f"partition persfl_ds3: class {short[0]} has {pools[short[0]]} samples, but its "
            "holders need "
            f"{base[:, short[0]].sum()}: lower floor or clients"
        )
    draws = np.where(base > 0, rng.lognormal(0.0, sigma, base.shape), 0.0)
    sums = draws.sum(axis=0)
    shares = draws / np.where(sums > 0, sums, 1.0)
    counts = base + np.where(sums > 0, round_columns(shares, np.where(sums > 0, rest, 0)), 0)
    return Partition(
        gather(assign_owners(labels, counts, rng), clients), {"classes": np.sort(chosen)}
    )


def _at_least_one(counts: Ints, chosen: Ints, name: str) -> None:
    got = np.take_along_axis(counts, chosen, axis=1)
    poor = np.argwhere(got < 1)
    if len(poor):
        k, j = poor[0]
        raise FedkinError(
            f"partition {name}: class {chosen[k, j]} has too few samples for its clients "
            f"(client {k} would get none): "
            "ask for fewer clients or smaller sizes"
        )
