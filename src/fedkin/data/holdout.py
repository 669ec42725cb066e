"""Each client's samples into train, validation and test: seeded per client, exact, never empty by
accident.
"""

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from fedkin.core.errors import FedkinError
from fedkin.core.rng import Key
from fedkin.data.arrays import Array, Ints, Mask
from fedkin.data.population import SPLITS

Fractions = Sequence[float] | Literal["comet"]
FEWEST = len(SPLITS)  # samples of a client that has one for each
COMET_TRAIN = (0.1, 0.3, 0.4)
COMET_VAL, COMET_TEST = 0.1, 0.5
DROP = "such clients out with --set split.empty=drop"


class Holdout(NamedTuple):
    """One ascending int64 index array a client for each split; ``share`` [clients] is the train
    fraction asked for. parted: rows of no split, since they belong together with official test
    rows.
    """

    train: list[Ints]
    val: list[Ints]
    test: list[Ints]
    share: npt.NDArray[np.float64]
    parted: int = 0


def holdout(
    indices: Sequence[Ints],
    key: Key,
    fractions: Fractions = (0.6, 0.2, 0.2),
    *,
    official: Mask | None = None,
    group: Array | None = None,
    names: Sequence[str] | None = None,
) -> Holdout:
    """Divides every client's indices at random; a client's division depends on the seed, its number
    and its indices.

    fractions: (train, val, test), sum at most 1 (the rest stays unused); "comet" draws the train
    share of each client from {0.1, 0.3, 0.4}, with val 0.1 and test 0.5 (COMET, appendix "Data
    Partitioning"). Sizes are the largest remainders of fraction·n; every split whose fraction is
    above 0 gets at least one sample. official [n]: a client's test set is its official test rows;
    its other rows are train and val in the ratio of their fractions (the test fraction is then not
    used). group [n]: rows of one group (a recording) stay in one split; those of a group with
    official test rows are in no split but for these.

    Args:
        indices: The rows of each client.
        key: Names the random streams.
        fractions: Of training, validation and test.
        official: [n] which rows are official test rows.
        group: [n] values of which equal ones stay together.
        names: What messages call the clients.

    Returns:
        Three lists of ascending rows, one entry a client, and the training share of each.

    Raises:
        FedkinError: A client, which it names, is too small for the splits, or the fractions are not
            possible.
    """
    parts: list[list[Ints]] = []
    shares, parted = np.empty(len(indices)), 0
    checked = None if isinstance(fractions, str) else check_fractions(fractions)
    if checked is None and fractions != "comet":
        raise FedkinError(
            f"fractions={fractions!r} is not known: use 'comet' or three numbers (train, val, test)"
        )
    if checked is None and official is not None:
        raise FedkinError(
            "fractions='comet' sets its own test share: leave out test='official', or give "
            "three numbers"
        )
    for k, rows in enumerate(indices):
        rng = Key(key.seed, client=k).numpy("holdout")
        client_fractions = checked or (float(rng.choice(COMET_TRAIN)), COMET_VAL, COMET_TEST)
        client = f"client {names[k] if names else k}"
        if official is None:
            client_parts = _divide(rows, client_fractions, rng, group, client)
        else:
            tested, learnable = official_and_rest(rows, official, group)
            client_parts = _keep_official(tested, learnable, client_fractions, rng, group, client)
            parted += len(rows) - len(tested) - len(learnable)
        shares[k] = client_fractions[0]
        parts.append(client_parts)
    train, val, test = ([client_parts[i] for client_parts in parts] for i in range(3))
    return Holdout(train, val, test, shares, parted)


def official_and_rest(rows: Ints, official: Mask, group: Array | None) -> tuple[Ints, Ints]:
    """A client's official test rows, and those that it may learn from.

    Args:
        rows: Those that the client has, by their number.
        official: [n] which rows are official test rows.
        group: [n] values of which equal ones stay together; None: each row stands alone.

    Returns:
        Two arrays of rows, in the order of ``rows``; in neither are other rows of a group that has
        official test rows.
    """
    test, others = rows[official[rows]], rows[~official[rows]]
    return test, others if group is None else others[~np.isin(group[others], group[test])]


def whole_clients(clients: int, share: float, key: Key) -> tuple[list[int], list[int]]:
    """(those that stay, those that are held out) of so many clients: a share of them, at least one,
    in order.

    Args:
        clients: How many there are.
        share: Of them that are held out, in 0..1.
        key: Names the random stream.

    Returns:
        Two ascending lists of client numbers.

    Raises:
        FedkinError: Nobody would be left to train.
    """
    count = max(1, round(share * clients))
    if count >= clients:
        raise FedkinError(
            f"run.holdout_clients = {share:g} leaves none of {clients} clients to train: lower it"
        )
    apart = key.numpy("holdout_clients").choice(clients, count, replace=False)
    return np.setdiff1d(np.arange(clients), apart).tolist(), np.sort(apart).tolist()


def check_fractions(fractions: Sequence[float]) -> tuple[float, float, float]:
    """Three checked fractions (train, val, test).

    Args:
        fractions: Three numbers.

    Returns:
        The same as floats in 0..1 that sum to at most 1.

    Raises:
        FedkinError: They are not, or leave nothing to train on.
    """
    try:
        values = tuple(float(f) for f in fractions)
    except (TypeError, ValueError):
        raise FedkinError(
            f"fractions={fractions!r} must be three numbers (train, val, test)"
        ) from None
    if len(values) != 3 or not all(math.isfinite(f) and 0 <= f <= 1 for f in values):
        raise FedkinError(
            f"fractions={values} must be three numbers from 0 to 1 (train, val, test)"
        )
    if sum(values) > 1 + 1e-9:
        raise FedkinError(f"fractions={values} sum to {sum(values):g}: they may sum to 1 at most")
    if values[0] == 0:
        raise FedkinError(
            f"fractions={values} leave nothing to train on: the first is the training fraction"
        )
    return values[0], values[1], values[2]


def split_sizes(n: int, fractions: Sequence[float]) -> list[int]:
    """Whole sizes: round(n·sum) in all by largest remainders, then at least 1 wherever a fraction
    is above 0.

    Needs n >= the number of fractions above 0.

    Args:
        n: Rows to divide.
        fractions: One for each split, summing to at most 1.

    Returns:
        A size for each split.
    """
    exact = [n * f for f in fractions]
    sizes = [math.floor(e + 1e-9) for e in exact]
    total = max(round(sum(exact)), sum(f > 0 for f in fractions))
    for i in sorted(range(len(sizes)), key=lambda i: sizes[i] - exact[i])[
        : max(0, total - sum(sizes))
    ]:
        sizes[i] += fractions[i] > 0
    for i, f in enumerate(fractions):
        if f > 0 and sizes[i] == 0:
            if sum(sizes) >= total:
                sizes[int(np.argmax(sizes))] -= 1
            sizes[i] = 1
    return sizes


def _divide(
    rows: Ints,
    fractions: Sequence[float],
    rng: np.random.Generator,
    group: Array | None,
    client: str,
) -> list[Ints]:
    nonempty = [name for name, f in zip(SPLITS, fractions) if f > 0]
    unit = "samples" if group is None else "groups"
    pieces = [rows] if group is None else _groups(rows, group)
    units = len(rows) if group is None else len(pieces)
    if units < len(nonempty):
        raise FedkinError(
            f"{client} has {units} {unit if units != 1 else unit[:-1]}, too few for "
            f"{' and '.join(nonempty)}: ask for "
            f"fewer clients, do without a part (--set split.val=0), or leave {DROP}"
        )
    if group is None:
        ends = np.cumsum([0, *split_sizes(len(rows), fractions)])
        order = rng.permutation(rows)
        return [np.sort(order[low:high]) for low, high in pairwise(ends)]
    order_of = rng.permutation(len(pieces))
    return _whole_groups([pieces[i] for i in order_of], fractions, len(rows))


def _keep_official(
    test: Ints,
    learnable: Ints,
    fractions: Sequence[float],
    rng: np.random.Generator,
    group: Array | None,
    client: str,
) -> list[Ints]:
    if len(test) == 0:
        raise FedkinError(
            f"{client} holds no official test rows: use --set data.test=holdout, or leave {DROP}"
        )
    train, val = fractions[0], fractions[1]
    total = train + val
    first, second, _ = _divide(learnable, (train / total, val / total, 0.0), rng, group, client)
    return [first, second, np.sort(test)]


def _groups(rows: Ints, group: Array) -> list[Ints]:
    order = rows[np.argsort(group[rows], kind="stable")]
    cuts = np.flatnonzero(group[order][1:] != group[order][:-1]) + 1
    return [part for part in np.split(order, cuts) if len(part)]


def _whole_groups(pieces: list[Ints], fractions: Sequence[float], n: int) -> list[Ints]:
    """Consecutive pieces to each split, cut where the running size comes nearest to the fractions;
    none empty.
    """
    ends = np.cumsum([0, *(len(piece) for piece in pieces)])
    parts: list[Ints] = []
    low, target = 0, 0.0
    for i, f in enumerate(fractions):
        target += f * n
        later = sum(g > 0 for g in fractions[i + 1 :])
        high = int(np.argmin(np.abs(ends - target))) if f > 0 else low
        high = min(max(high, low + (f > 0)), len(pieces) - later)
        parts.append(np.sort(np.concatenate([np.empty(0, np.int64), *pieces[low:high]])))
        low = high
    return parts
