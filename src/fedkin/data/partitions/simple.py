"""Partitions without a distribution to draw: at random, by natural client, by shards of sorted
labels, by groups.
"""

from collections.abc import Sequence

import numpy as np

from fedkin.core.errors import FedkinError
from fedkin.data.arrays import Array, Ints
from fedkin.data.partitions.shares import Partition, class_count, gather, rows, whole


def iid(labels: Array, clients: int, rng: np.random.Generator) -> Partition:
    """Every client an equal random share (sizes differ by at most 1).

    Args:
        labels: [n], of any kind.
        clients: How many.
        rng: What shuffles.

    Returns:
        Rows a client; the generator knows nothing more.
    """
    order = rng.permutation(rows(labels, clients, "iid"))
    return Partition([np.sort(part) for part in np.array_split(order, clients)], {})


def natural(
    labels: Array, clients: int | None, rng: np.random.Generator, *, client: Array | None = None
) -> Partition:
    """One client a distinct value of ``client`` [n], in sorted order; truth["name"] holds the
    values.

    ``clients`` None or 0 takes all of them, fewer takes a random choice (rows of the others stay
    unused).

    Args:
        labels: [n], of any kind.
        clients: How many of them; None or 0: all.
        rng: What chooses where not all are taken.
        client: [n] the name of each sample's client.

    Returns:
        Rows a client, and the clients' names.

    Raises:
        FedkinError: The data name no clients, or fewer than were asked for.
    """
    if client is None:
        raise FedkinError(
            "partition natural needs client labels: choose a data set that has them, or name "
            "a client column"
        )
    names, owner = np.unique(client, return_inverse=True)
    if len(owner) != len(labels):
        raise FedkinError(
            f"partition natural: {len(owner)} client labels for {len(labels)} samples: give "
            "one a sample"
        )
    if not clients:
        clients = len(names)
    rows(labels, clients, "natural")
    if clients > len(names):
        raise FedkinError(
            f"partition natural: there are only {len(names)} natural clients, not {clients}"
        )
    chosen = (
        np.sort(rng.permutation(len(names))[:clients])
        if clients < len(names)
        else np.arange(len(names))
    )
    place = np.full(len(names), -1)
    place[chosen] = np.arange(clients)
    return Partition(gather(place[owner], clients), {"name": names[chosen], "natural": chosen})


def shards(
    labels: Array,
    clients: int,
    rng: np.random.Generator,
    *,
    per_client: int = 2,
    size: int | None = None,
) -> Partition:
    """McMahan et al. 2017: sort by label, cut into equal shards, deal them at random.

    Args:
        labels: [n] classes.
        clients: How many.
        rng: What shuffles.
        per_client: Shards of a client; 2 means that it mostly sees two classes.
        size: Samples of a shard; shards that nobody gets stay unused. Default: clients·per_client
            shards of all samples.

    Returns:
        Rows a client; the generator knows nothing more.

    Raises:
        FedkinError: A number is out of range, or there are too few samples for the shards.
    """
    class_count(labels, clients, "shards")
    whole("shards", "per_client", per_client, 1, max(1, len(labels) // clients))
    needed = clients * per_client
    order = np.lexsort((rng.random(len(labels)), labels))
    if size is None:
        pieces = np.array_split(order, needed)
    else:
        whole("shards", "size", size, 1, max(1, len(labels) // needed))
        pieces = [order[start : start + size] for start in range(0, len(order) - size + 1, size)]
    dealt = rng.permutation(len(pieces))[:needed].reshape(clients, per_client)
    return Partition([np.sort(np.concatenate([pieces[i] for i in hand])) for hand in dealt], {})


def label_groups(
    labels: Array,
    clients: int,
    rng: np.random.Generator,
    *,
    groups: Sequence[int] | Sequence[Sequence[int]] = (3, 3, 2, 2),
) -> Partition:
    """PPFL section 4.1: classes form groups, a client holds samples of one group only.

    ``groups``: group sizes (classes fall to groups at random; they must sum to the number of
    classes), or explicit class lists (classes in no list stay unused). Clients fill the groups in
    order and as evenly as possible (80 over 3: 27, 27, 26); each group's samples are pooled and
    split evenly at random. truth: "group" [clients], "class_group" [classes], -1 where unused.

    Args:
        labels: [n] classes.
        clients: How many.
        rng: What draws.
        groups: Sizes, or lists of classes.

    Returns:
        Rows a client, and what the generator knows.

    Raises:
        FedkinError: Groups do not fit the classes, or there are more groups than clients.
    """
    classes = class_count(labels, clients, "label_groups")
    class_group = _class_groups(groups, classes, rng)
    count = int(class_group.max()) + 1
    if clients < count:
        raise FedkinError(
            f"partition label_groups: {clients} clients cannot fill {count} groups: ask for "
            f"{count} or more"
        )
    group = np.repeat(
        np.arange(count), [len(part) for part in np.array_split(np.arange(clients), count)]
    )
    indices: list[Ints] = []
    for g in range(count):
        members = int((group == g).sum())
        pool = rng.permutation(np.flatnonzero(class_group[labels] == g))
        if len(pool) < members:
            raise FedkinError(
                f"partition label_groups: group {g} has {len(pool)} samples for {members} clients"
            )
        indices += [np.sort(part) for part in np.array_split(pool, members)]
    return Partition(indices, {"group": group, "class_group": class_group})


def _class_groups(
    groups: Sequence[int] | Sequence[Sequence[int]], classes: int, rng: np.random.Generator
) -> Ints:
    if len(groups) == 0:
        raise FedkinError(
            "partition label_groups: groups is empty: give sizes such as [3, 3, 2, 2], or "
            "lists of classes"
        )
    result = np.full(classes, -1)
    numbers = [g for g in groups if isinstance(g, int | np.integer)]
    if len(numbers) == len(groups):
        sizes = np.asarray(numbers, dtype=np.int64)
        if (sizes < 1).any() or sizes.sum() != classes:
            raise FedkinError(
                f"partition label_groups: sizes {numbers} sum to {sizes.sum()}, but there are "
                f"{classes} classes: "
                f"give positive sizes that sum to {classes}"
            )
        result[rng.permutation(classes)] = np.repeat(np.arange(len(sizes)), sizes)
        return result
    for g, members in enumerate(groups):
        if not isinstance(members, Sequence | np.ndarray) or len(members) == 0:
            raise FedkinError(
                f"partition label_groups: group {g} is {members!r}: give every group a list "
                "of classes"
            )
        for c in members:
            whole("label_groups", f"a class of group {g}", c, 0, classes - 1)
            if result[c] >= 0:
                raise FedkinError(
                    f"partition label_groups: class {c} is in groups {result[c]} and {g}: "
                    "name it once"
                )
            result[c] = g
    return result
