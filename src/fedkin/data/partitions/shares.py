"""What all partitions share: their result, the checks on what a user asks for, and two
array moves.
"""

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from fedkin.core.errors import FedkinError
from fedkin.data.arrays import Array, Ints


class Partition(NamedTuple):
    """A client partition: disjoint, ascending int64 index arrays, one per client, and the
    generator's ground truth.

    truth: arrays with a row a client ("group" [clients], "classes" [clients, k], "name" [clients]),
    or "class_group" [classes].
    """

    indices: list[Ints]
    truth: dict[str, Array]


def class_count(labels: Array, clients: int, name: str) -> int:
    """Number of classes in checked labels; FedkinError where they cannot be divided over the
    clients by class.

    Args:
        labels: [n].
        clients: How many.
        name: Of the partition, for messages.

    Returns:
        One more than the largest label.

    Raises:
        FedkinError: They are targets of a regression, negative, or fewer than clients.
    """
    rows(labels, clients, name)
    if labels.dtype.kind not in "bui":
        raise FedkinError(
            f"partition {name} divides by class, but these are regression targets: use iid or "
            "natural"
        )
    if int(labels.min()) < 0:
        raise FedkinError(
            f"partition {name}: labels must be 0 or more, but one is {int(labels.min())}"
        )
    return int(labels.max()) + 1


def rows(labels: Array, clients: int, name: str) -> int:
    """Number of samples; FedkinError where there are none, or fewer than clients.

    Args:
        labels: [n].
        clients: How many.
        name: Of the partition, for messages.

    Returns:
        The number of samples, at least ``clients``.

    Raises:
        FedkinError: ``clients`` is no count, or there are fewer samples than clients.
    """
    if isinstance(clients, bool) or not isinstance(clients, int | np.integer) or clients < 1:
        raise FedkinError(
            f"partition {name}: clients={clients!r} must be a whole number of at least 1"
        )
    if labels.ndim != 1 or len(labels) == 0:
        raise FedkinError(
            f"partition {name}: labels of shape {labels.shape} hold no list of samples"
        )
    if clients > len(labels):
        raise FedkinError(
            f"partition {name}: {clients} clients cannot share {len(labels)} samples: ask for fewer"
        )
    return len(labels)


def positive(name: str, **values: float) -> None:
    """Refuses parameters that are not finite and greater than 0.

    Args:
        name: Of the partition, for messages.
        values: Parameter → value.

    Raises:
        FedkinError: Names the first that is not.
    """
    for key, value in values.items():
        if (
            isinstance(value, bool)
            or not isinstance(value, int | float | np.number)
            or not 0 < value < math.inf
        ):
            raise FedkinError(f"partition {name}: {key}={value!r} must be a number greater than 0")


def whole(name: str, key: str, value: int, low: int, high: int | None = None) -> None:
    """Refuses a parameter that is not a whole number in low..high.

    Args:
        name: Of the partition, for messages.
        key: Of the parameter.
        value: What was given.
        low: The smallest that fits.
        high: The largest; None: any.

    Raises:
        FedkinError: Says which numbers would fit.
    """
    fits = isinstance(value, int | np.integer) and not isinstance(value, bool) and value >= low
    if not fits or (high is not None and value > high):
        upto = f"of at least {low}" if high is None else f"from {low} to {high}"
        raise FedkinError(f"partition {name}: {key}={value!r} must be a whole number {upto}")


def assign_owners(labels: Array, counts: Ints, rng: np.random.Generator) -> Ints:
    """Owner of every sample [n] (-1: nobody) when client k draws counts[k, c] random samples of
    class c.

    Args:
        labels: [n] classes.
        counts: [clients, classes]; columns sum to at most what there is of a class.
        rng: What draws.

    Returns:
        [n] int64: the client that owns each sample, -1 for nobody.
    """
    owner = np.full(len(labels), -1)
    for c in range(counts.shape[1]):
        pool = rng.permutation(np.flatnonzero(labels == c))
        owner[pool[: counts[:, c].sum()]] = np.repeat(np.arange(len(counts)), counts[:, c])
    return owner


def gather(owner: Ints, clients: int) -> list[Ints]:
    """One ascending index array a client.

    Args:
        owner: [n] the client of each sample; −1: nobody.
        clients: How many.

    Returns:
        Row numbers of each client.
    """
    order = np.argsort(owner, kind="stable")[np.count_nonzero(owner < 0) :]
    ends = np.cumsum(np.bincount(owner[owner >= 0], minlength=clients))
    return [order[low:high] for low, high in zip([0, *ends[:-1]], ends, strict=True)]


def round_columns(shares: npt.NDArray[np.float64], pools: Ints) -> Ints:
    """Whole counts [K, C] whose columns sum to the pools, within 1 of shares·pools (columns of
    shares sum to 1).

    Rounds the running sums, so no remainder has to be handed out afterwards.

    Args:
        shares: [K, C], columns sum to 1.
        pools: [C] samples of each class.

    Returns:
        [K, C] int64: samples of each class that each client gets.
    """
    ends = np.rint(np.cumsum(shares, axis=0) * pools).astype(np.int64)
    ends[-1] = pools
    return np.diff(np.minimum(ends, pools), axis=0, prepend=0)


def round_rows(demand: npt.NDArray[np.float64], totals: Ints) -> Ints:
    """Whole counts [K, C] whose rows sum to the totals: largest remainders (rows of demand sum to
    totals).

    Args:
        demand: [K, C], rows sum to ``totals``.
        totals: [K] whole numbers.

    Returns:
        [K, C] int64: samples of each class that each client gets.
    """
    counts = np.floor(demand + 1e-9).astype(np.int64)
    rest = totals - counts.sum(axis=1)
    rank = np.argsort(np.argsort(counts - demand, axis=1, kind="stable"), axis=1)
    return np.asarray(counts + (rank < rest[:, None]), dtype=np.int64)
