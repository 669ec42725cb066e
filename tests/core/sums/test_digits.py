"""Digits of numbers, against Python's fractions."""

from fractions import Fraction

import numpy as np
import pytest
import torch

from fedkin.core.sums.digits import BLOCK, DIGIT, LOWEST, deposit, places_for, value_of, weighted


def digits_of(numbers, weight=1.0):
    numbers = np.array(numbers, dtype=np.float64) * weight
    digits = [np.zeros(len(numbers), dtype=np.int64) for _ in range(places_for(numbers))]
    deposit(numbers, digits)
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


def test_into_how_many_digits_a_number_is_cut_changes_no_bit():
    rng = np.random.default_rng(6)
    numbers = rng.normal(size=20_000) * 2.0 ** rng.integers(-9, 10, 20_000) * 777
    low, high = rng.integers(-(2**39), 2**39, 20_000), (numbers * 2.0**24).astype(np.int64)
    third = (high + 2**39) >> DIGIT
    three = value_of([low, high - (third << DIGIT), third])
    assert value_of([low, high]).tobytes() == three.tobytes()
    for at in range(0, 20_000, 100):
        assert three[at] == float(exactly([low, high], at))


@pytest.mark.parametrize(
    "sizes",
    [
        [1],
        [BLOCK],
        [2 * BLOCK + 5],
        [3, 0, BLOCK - 3, 1],
        [5, BLOCK, 7],
        [BLOCK - 1, 2, 3 * BLOCK, 4],
    ],
)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.int64])
def test_leaves_are_weighted_in_blocks_one_after_another(sizes, dtype):
    leaves = [(torch.arange(size) % 97 - 40 + at).to(dtype) for at, size in enumerate(sizes)]
    blocks = [block.copy() for block in weighted(leaves, 3.0)]
    assert np.concatenate(blocks).tolist() == (3 * torch.cat(leaves).double()).tolist()
    assert [len(block) for block in blocks[:-1]] == [BLOCK] * (len(blocks) - 1)
    assert 0 < len(blocks[-1]) <= BLOCK


def test_no_leaves_have_no_block():
    assert list(weighted([], 3.0)) == []
    assert list(weighted([torch.zeros(0)], 3.0)) == []


def test_a_float32_is_weighted_in_double_precision():
    (block,) = weighted([torch.tensor([0.1], dtype=torch.float32)], 16_777_217.0)
    assert block[0] == float(np.float32(0.1)) * 16_777_217.0
