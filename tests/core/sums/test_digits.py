"""Digits of numbers, against Python's fractions."""

from fractions import Fraction

import numpy as np
import pytest
import torch

from fedkin.core.sums.digits import BLOCK, DIGIT, LOWEST, deposit, places_for, value_of


def digits_of(numbers, weight=1.0):
    numbers = torch.tensor(numbers, dtype=torch.float64)
    digits = [np.zeros(len(numbers), dtype=np.int64) for _ in range(places_for(numbers, weight))]
    deposit(numbers, weight, digits)
    return digits


def exactly(digits, at=0):
    return sum(
        Fraction(int(digit[at])) * Fraction(2) ** (LOWEST + DIGIT * k)
        for k, digit in enumerate(digits)
    )


@pytest.mark.parametrize(
    ("number", "digits"),
    [
        (1.0, [0, 2**24]),
        (-1.0, [0, -(2**24)]),
        (2.0**-24, [0, 1]),
        (2.0**-25 + 2.0**-64, [-(2**39) + 1, 1]),  # above the middle: the next digit up, less
        (-3.0 * 2.0**-64, [-3, 0]),
        (2.0**-64 * 0.75, [1, 0]),  # the one rounding
        (2.0**-65, [0, 0]),  # halves go to the even one
        (2.0**18 + 2.0**-24, [0, 1, 4]),
    ],
)
def test_digits_of_known_numbers(number, digits):
    found = digits_of([number])
    assert [int(digit[0]) for digit in found] == digits


@pytest.mark.parametrize("size", [2.0**-60, 1e-9, 0.3, 17.0, 2.0**17, 1e8, 1e30])
@pytest.mark.parametrize("weight", [1.0, 7.0, 65_537.0])
def test_a_number_is_rounded_once_to_a_multiple_of_the_lowest_quantum(size, weight):
    numbers = (torch.randn(40, generator=torch.Generator().manual_seed(3)).double() * size).tolist()
    found = digits_of(numbers, weight)
    for at, number in enumerate(numbers):
        quanta = Fraction(number * weight) * 2**64
        assert exactly(found, at) * 2**64 == round(quanta), number
        assert all(abs(int(digit[at])) <= 2**41 for digit in found)


def test_a_value_is_the_nearest_double_of_what_digits_stand_for():
    rng = np.random.default_rng(5)
    low, high = (rng.integers(-(2**61), 2**61, 200), rng.integers(-(2**50), 2**50, 200))
    found = value_of([low, high])
    for at in range(200):
        assert found[at] == float(exactly([low, high], at))


def test_how_a_number_is_cut_changes_no_bit():
    by_hand = [np.array([5 + 2**40, -7]), np.array([2, 3 - 2**40]), np.array([0, 1])]
    other = [np.array([5, -7 + 2**40]), np.array([3, 2]), np.array([0, 0])]
    assert value_of(by_hand).tobytes() == value_of(other).tobytes()


def test_long_vectors_are_cut_in_blocks():
    n = 2 * BLOCK + 5
    numbers = torch.arange(n, dtype=torch.float32) / 8 - 100
    digits = [np.zeros(n, dtype=np.int64) for _ in range(places_for(numbers, 3.0))]
    deposit(numbers, 3.0, digits)
    assert value_of(digits).tolist() == (3 * numbers.double()).tolist()
