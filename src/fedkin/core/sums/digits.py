"""Numbers as integers, cut into digits of 40 bits: sums of digits round nothing.

A number is rounded once, by itself, to a multiple of 2^-64. Digit k counts multiples of
2^(40 k - 64). Digits are signed, and are added as 64-bit integers (modulo 2^64): nobody carries
before the sum is read, so additions may be made in any order and under masks.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

DIGIT = 40  # bits of a digit; the highest digit of a number may be as large as 2^41
LOWEST = -64
MOST = 1 << 20  # numbers of one sum: so many digits of 2^41 are below 2^62
BLOCK = 1 << 13  # numbers at a time: they stay in the processor's cache
# 1.5 · 2^52 of each digit's quanta: who adds it rounds to a multiple of them
MAGIC = [np.float64(1.5 * 2.0 ** (52 + LOWEST + DIGIT * k)) for k in range(16)]
Numbers = np.ndarray[tuple[int], np.dtype[np.float64]]
Whole = np.ndarray[tuple[int], np.dtype[np.int64]]


def weighted(leaves: Iterable[Tensor], weight: float) -> Iterator[Numbers]:
    """weight · leaves in double precision, one leaf after another, in blocks.

    Small leaves share a block: digits of ten numbers cost nearly as much as those of thousands.

    Args:
        leaves: [n] each, in the memory of the processor.
        weight: Not negative.

    Yields:
        [1 … BLOCK]: memory that the next block overwrites.
    """
    arrays = [_in_numpy(leaf) for leaf in leaves]
    block = np.empty(min(BLOCK, sum(len(numbers) for numbers in arrays)))
    filled = 0
    for numbers in arrays:
        for first in _starts(len(numbers), len(block) - filled):
            part = numbers[first : first + len(block) - filled]
            after = filled + len(part)
            np.multiply(part, weight, out=block[filled:after], dtype=np.float64)
            filled = after
            if filled == len(block):
                yield block
                filled = 0
    if filled:
        yield block[:filled]


def _starts(size: int, room: int) -> Iterator[int]:
    """Where the parts of a leaf begin: the first fills what is free of a block."""
    if size:
        yield 0
        yield from range(room, size, BLOCK)


def _in_numpy(leaf: Tensor) -> np.ndarray[Any, Any]:
    known = leaf.dtype in (torch.float32, torch.float64)
    array: np.ndarray[Any, Any] = (leaf if known else leaf.double()).numpy()
    return array


def places_for(numbers: Numbers) -> int:
    """How many digits numbers have: two, or more where one is above 2^17.

    Args:
        numbers: [n], finite, n at least 1.

    Returns:
        The number of digits.
    """
    largest = max(float(numbers.max()), -float(numbers.min()))
    if not largest:
        return 2
    return max(2, math.ceil((math.log2(largest) - LOWEST - 1) / DIGIT))


def deposit(numbers: Numbers, digits: Sequence[Whole]) -> None:
    """Add the digits of numbers to those of their sum.

    Args:
        numbers: [n]; used up.
        digits: As many as ``places_for`` says, [n] each; changed in place.
    """
    rest = numbers
    for k in reversed(range(len(digits))):
        magic, total = MAGIC[k], digits[k]
        moved = rest + magic  # rounded to this place: its bits are those of magic + the digit
        total += moved.view(np.int64)
        total -= magic.view(np.int64)
        if k:
            moved -= magic
            rest -= moved


def value_of(digits: Sequence[Whole]) -> Numbers:
    """The numbers [n] that digits stand for, in double precision.

    Carries come first, and leave digits of at most half a unit of the next: how numbers were cut
    into digits, and into how many, then changes no bit. A sum below 2^29 is rounded once.

    Args:
        digits: The lowest first, [n] each.

    Returns:
        [n] float64.
    """
    value = np.empty(len(digits[0]))
    for first in range(0, len(value), BLOCK):
        block = slice(first, first + BLOCK)
        value[block] = _value_of_block([digit[block] for digit in digits])
    return value


def _value_of_block(digits: Sequence[Whole]) -> Numbers:
    carry, carried = np.zeros(len(digits[0]), dtype=np.int64), []
    for digit in digits:
        here = digit + carry
        carry = (here + (1 << (DIGIT - 1))) >> DIGIT
        here -= carry << DIGIT
        carried.append(here)
    value: Numbers = carry * np.float64(2.0 ** (LOWEST + DIGIT * len(digits)))
    for k in reversed(range(len(digits))):  # the lowest last: only it is rounded
        value += carried[k] * 2.0 ** (LOWEST + DIGIT * k)
    return value
