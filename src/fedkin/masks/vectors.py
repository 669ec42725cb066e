"""Masks: pseudo-random vectors of whole numbers modulo 2^64, which cancel in the sum."""

import numpy as np
from numpy.typing import NDArray

from fedkin.masks.keys import stream
from fedkin.masks.wire import Refused, Stage, checked, sealed

Vector = NDArray[np.uint64]
NUMBER = 8  # bytes


def mask_of(key: bytes, size: int) -> Vector:
    """The mask [size] of a key, uniform over the numbers modulo 2^64."""
    return np.frombuffer(stream(key, NUMBER * size), dtype="<u8")


def add_pair(total: Vector, key: bytes, client: int, other: int) -> None:
    """Add, in place, what ``client`` masks its vector with against ``other``: the one adds what the
    other takes away.
    """
    mask = mask_of(key, len(total))
    if client < other:
        total += mask
    else:
        total -= mask


def packed(round: int, vector: Vector) -> bytes:
    """A masked vector as a message."""
    return sealed(Stage.MASKED, round, [vector.astype("<u8", copy=False).tobytes()], len(vector))


def unpacked(round: int, blob: bytes, size: int) -> Vector:
    """The masked vector [size] of a message. Raises Refused for any other one."""
    body = checked(Stage.MASKED, round, blob, NUMBER * size, 1)
    if len(body) != NUMBER * size:
        raise Refused(f"masked: {len(body)} bytes of numbers, not {NUMBER * size}")
    return np.frombuffer(body, dtype="<u8")
