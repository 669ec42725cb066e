"""Numbers as integers, cut into digits of 40 bits: sums of digits round nothing.

A number is rounded once, by itself, to a multiple of 2^-64. Digit k counts multiples of
2^(40 k - 64). Digits are signed, and are added as 64-bit integers (modulo 2^64): nobody carries
before the sum is read, so additions may be made in any order and under masks.
"""

import math
from collections.abc import Sequence

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


def places_for(numbers: Tensor, weight: float) -> int:
    """How many digits weight · numbers have: two, or more where a number is above 2^17.

    Args:
        numbers: Finite ones, of any shape.
        weight: Not negative.

    Returns:
        The number of digits.
    """
    if not numbers.numel():
        return 2
    low, high = torch.aminmax(numbers)
    largest = max(abs(float(low)), abs(float(high))) * weight
    if not largest:
        return 2
    return max(2, math.ceil((math.log2(largest) - LOWEST - 1) / DIGIT))


def deposit(numbers: Tensor, weight: float, digits: Sequence[Whole]) -> None:
    """Add the digits of weight · numbers to those of their sum.

    Args:
        numbers: [n].
        weight: Not negative.
        digits: As many as ``places_for`` says, [n] each; changed in place.
    """
    places = list(enumerate(MAGIC[: len(digits)]))[::-1]
    for first in range(0, numbers.numel(), BLOCK):
        block = slice(first, first + BLOCK)
        rest = numbers[block].to(torch.float64, copy=True).numpy()
        rest *= weight
        for k, magic in places:
            moved = rest + magic  # rounded to this place: its bits are those of magic + the digit
            total = digits[k][block]
            total += moved.view(np.int64)
            total -= magic.view(np.int64)
            if k:
                moved -= magic
                rest -= moved


def value_of(digits: Sequence[Whole]) -> Numbers:
    """The numbers [n] that digits stand for, in double precision.

    Carries come first: how numbers were cut into digits then changes no bit. A sum below 2^29 is
    rounded once.

    Args:
        digits: The lowest first, [n] each.

    Returns:
        [n] float64.
    """
    value, carry = np.zeros(len(digits[0])), np.zeros(len(digits[0]), dtype=np.int64)
    for k, digit in enumerate(digits):
        here = digit + carry
        carry = here >> DIGIT
        if k < len(digits) - 1:
            here -= carry << DIGIT
        value += here * 2.0 ** (LOWEST + DIGIT * k)
    return value
