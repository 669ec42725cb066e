"""Shamir's secret sharing: any t of n shares tell a secret, fewer tell nothing of it.

Source: Shamir: How to share a secret, 1979. A secret of 32 bytes is nine numbers of 30 bits, each
shared by a polynomial of its own over the prime field of 2^31 − 1.
"""

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fedkin.masks.keys import KEY
from fedkin.masks.wire import Refused

PRIME = 2**31 - 1
BITS = 30  # of one number
PARTS = -(-8 * KEY // BITS)
SHARE = 4 * PARTS  # bytes
DRAW = 8  # random bytes for one coefficient: its bias is below 2^-32
TRIES = 256  # subsets that are tried where shares do not fit
Words = NDArray[np.int64]


def split(secret: bytes, threshold: int, points: Sequence[int], drawn: bytes) -> list[bytes]:
    """One share for each point.

    Args:
        secret: 32 bytes.
        threshold: t, how many shares tell it.
        points: n different whole numbers from 1.
        drawn: ``randomness(threshold)`` bytes that nobody else knows.

    Returns:
        n shares of 36 bytes.
    """
    words = np.frombuffer(drawn, dtype="<u8").reshape(threshold - 1, PARTS) % np.uint64(PRIME)
    at = np.asarray(points, dtype=np.int64)[:, None]
    values = np.zeros((len(points), PARTS), dtype=np.int64)
    for row in words.astype(np.int64):  # Horner, from the highest power
        values = (values + row) * at % PRIME
    values = (values + _numbers(secret)) % PRIME
    return [row.astype("<u4").tobytes() for row in values]


def randomness(threshold: int) -> int:
    """How many random bytes a secret is shared with."""
    return DRAW * PARTS * (threshold - 1)


class Recovered(NamedTuple):
    """The secret, and the points whose shares do not fit it."""

    secret: bytes
    liars: tuple[int, ...]


def recover(
    shares: Mapping[int, bytes], threshold: int, right: Callable[[bytes], bool]
) -> Recovered:
    """The secret of t or more shares, of which some may be false.

    Args:
        shares: Point → share of 36 bytes.
        threshold: t.
        right: Whether this is the secret, by what is publicly known of it.

    Raises:
        Refused: There are too few, or no t of those that were tried fit.
    """
    read = {point: _words(share) for point, share in shares.items()}
    usable = tuple(point for point, row in read.items() if int(row.max()) < PRIME)
    if len(usable) < threshold:
        raise Refused(f"{len(usable)} shares of a secret arrived, and {threshold} are needed")
    for chosen in _subsets(usable, threshold):
        secret = _bytes(_at(0, chosen, read))
        if secret is not None and right(secret):
            first = chosen == usable[:threshold]
            return Recovered(secret, () if first else _unfit(chosen, read))
    raise Refused("shares of a secret contradict each other: somebody lies")


def _unfit(chosen: tuple[int, ...], read: Mapping[int, Words]) -> tuple[int, ...]:
    """The points whose shares are not on the polynomials of those chosen."""
    others = (point for point in read if point not in chosen)
    return tuple(
        point for point in others if not np.array_equal(read[point], _at(point, chosen, read))
    )


def _subsets(points: Sequence[int], size: int) -> Iterator[tuple[int, ...]]:
    """The first ones; then all that leave neighbours out; then some by chance."""
    yield tuple(points[:size])
    around = [*points, *points]
    if size == len(points):
        return
    for first in range(1, min(len(points), TRIES)):
        yield tuple(around[first : first + size])
    drawn = random.Random(0)  # no secret: which shares are tried first
    for _ in range(TRIES):
        yield tuple(drawn.sample(list(points), size))


def _at(where: int, chosen: tuple[int, ...], read: Mapping[int, Words]) -> Words:
    """The polynomials' values at a point, by Lagrange."""
    rows = np.stack([read[point] for point in chosen])
    terms = rows * _weights(where, chosen)[:, None] % PRIME
    found: Words = terms.sum(0) % PRIME
    return found


@lru_cache(maxsize=64)
def _weights(where: int, chosen: tuple[int, ...]) -> Words:
    """Lagrange's weights [t] for the value at ``where``."""
    found = []
    for i in chosen:
        above, below = 1, 1
        for j in chosen:
            if j != i:
                above = above * (where - j) % PRIME
                below = below * (i - j) % PRIME
        found.append(above * pow(below, -1, PRIME) % PRIME)
    return np.asarray(found, dtype=np.int64)


def _words(share: bytes) -> Words:
    return np.frombuffer(share, dtype="<u4").astype(np.int64)


def _numbers(secret: bytes) -> Words:
    whole = int.from_bytes(secret, "little")
    mask = (1 << BITS) - 1
    return np.asarray([whole >> (BITS * k) & mask for k in range(PARTS)], dtype=np.int64)


def _bytes(numbers: Words) -> bytes | None:
    """The secret of its nine numbers; None where they are of none."""
    if any(number >> BITS for number in numbers.tolist()):
        return None
    whole = sum(number << (BITS * k) for k, number in enumerate(numbers.tolist()))
    return whole.to_bytes(KEY, "little") if whole >> (8 * KEY) == 0 else None
