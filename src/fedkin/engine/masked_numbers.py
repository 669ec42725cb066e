"""Messages as whole numbers modulo 2^64, which masks can hide and a server can only add."""

import numpy as np

from fedkin.core.sums.digits import DIGIT, LOWEST
from fedkin.core.sums.exact import ExactSum
from fedkin.core.tree import Tree, leaves, map_tree
from fedkin.masks.vectors import Vector
from fedkin.masks.wire import NoSum, Refused

USUAL = 1024.0  # numbers up to here always fit
FEWEST, MOST = 2, 4  # digits
HIGHEST = 1 << (DIGIT + 1)  # of one client's digit


def digits_for(weight: float) -> int:
    """How many digits carry weight · x for every |x| up to ``USUAL``.

    Args:
        weight: The largest of the round.

    Returns:
        Digits of 40 bits, two or more.
    """
    digits = FEWEST
    while largest_of(digits) < weight * USUAL:
        digits += 1
    return digits


def largest_of(digits: int) -> float:
    """The largest number that so many digits carry.

    Args:
        digits: Of 40 bits.

    Returns:
        2^(40 digits − 63).
    """
    return 2.0 ** (DIGIT * digits + LOWEST + 1)


def vector_of(message: Tree, weight: float, digits: int) -> Vector:
    """weight · message as digits (``core.sums.digits``), one place after another.

    Args:
        message: Tensors of finite numbers.
        weight: A whole number.
        digits: As many for each number.

    Returns:
        Whole numbers modulo 2^64, [digits · numbers].

    Raises:
        Refused: A number is too large.
    """
    if not FEWEST <= digits <= MOST:
        raise Refused(f"numbers of {digits} digits: {FEWEST} to {MOST} are sent")
    one = ExactSum()
    one.add(message, weight)
    if len(one.digits) > digits:
        raise Refused(
            f"a number of its message, times its weight {weight:g}, is above "
            f"{largest_of(digits):.3g}, which is the most that masks of {digits} digits carry"
        )
    size = size_of(message)
    rows = [*one.digits, *[np.zeros(size, np.int64)] * (digits - len(one.digits))]
    return np.concatenate(rows).view(np.uint64)


def size_of(message: Tree) -> int:
    """How many numbers a message has.

    Args:
        message: A tree of tensors.

    Returns:
        The sum over its leaves.
    """
    return sum(leaf.numel() for leaf in leaves(message))


def mean_of(total: Vector, like: Tree, weight: float, clients: int) -> Tree:
    """What a sum of such vectors is the mean of: the bits of the plain mean.

    Args:
        total: Of so many ``clients``.
        like: A message of the same structure.
        weight: Of all of them.
        clients: How many vectors were added.

    Returns:
        A tree of the structure of ``like``.

    Raises:
        NoSum: It is no sum of so many vectors: one of them was masked with other keys.
    """
    whole = total.view(np.int64)
    most = clients * HIGHEST
    if len(whole) and (int(whole.max()) > most or int(whole.min()) < -most):
        raise NoSum(
            "the sum under masks is no sum of messages: a client did not mask what it sent with "
            "the keys that it advertised"
        )
    total_sum = ExactSum()
    total_sum.add(map_tree(lambda leaf: leaf.new_zeros(leaf.shape), like), 0.0)
    total_sum.weight = weight
    size = size_of(like)
    total_sum.digits = [whole[at : at + size] for at in range(0, len(whole), size)]
    return total_sum.mean()
