"""How well columns tell a label, where the answer is known."""

import tracemalloc
from collections import Counter

import numpy as np
import pytest

from fedkin.data.quality.predictive import (
    Label,
    halves,
    joint,
    predicted_alone,
    predicted_by_many,
    predicted_by_values,
    predicted_together,
)

RNG = np.random.default_rng(8)
A, B = RNG.integers(0, 2, 400), RNG.integers(0, 2, 400)
NOISE = RNG.permutation(400)


def test_what_guessing_gets_wrong() -> None:
    assert Label(np.array([0, 2, 2, 1, 2]), 3).errors == 2
    assert Label(np.array([1.0, 4.0, 1.0]), 0).errors == 6  # (1 + 4 + 1) about the mean 2
    label = Label(np.array([1.0, 4.0, 1.0]), 0)
    assert label.wrong(np.array([2, 1]), np.array([0.0, 6.0])) == 5


def test_a_copy_tells_everything_and_noise_nothing() -> None:
    label = Label(A, 2)
    assert predicted_alone(A, label) == predicted_by_values(1 - A, label) == 1
    assert abs(predicted_alone(NOISE, label)) < 0.35
    assert predicted_alone(A, Label(np.zeros(400, dtype=int), 1)) == 0


def test_two_columns_tell_what_neither_tells_alone() -> None:
    label = Label(A ^ B, 2)
    assert max(predicted_by_values(A, label), predicted_by_values(B, label)) < 0.35
    assert predicted_by_values(joint([A, B]), label) == 1
    assert predicted_together(np.stack([A, B], 1).astype(float), label) == 1
    assert predicted_by_many(np.stack([A, B], 1).astype(float), label) > 0.95


def test_each_value_has_its_most_frequent_class_whatever_there_are() -> None:
    """No table of 500 values × 40,000 classes, which would be 160 MB."""
    codes, y = RNG.integers(0, 500, 2000), RNG.integers(0, 3, 2000) * 19_000
    label = Label(y, 40_000)
    tracemalloc.start()
    found = predicted_by_values(codes, label)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 5_000_000
    wrong = 0
    for learn, ask in halves(2000):
        usual = Counter(sorted(y[learn].tolist())).most_common(1)[0][0]
        for row in ask:
            own = Counter(sorted(y[learn][codes[learn] == codes[row]].tolist()))
            wrong += y[row] != (own.most_common(1)[0][0] if own else usual)
    assert found == 1 - wrong / label.errors


def test_amounts_are_told_by_squares() -> None:
    assert predicted_alone(np.arange(400), Label(np.arange(400) * 3.0, 0)) > 0.999


def test_halves_are_disjoint_and_the_same_each_time() -> None:
    (one, two), (three, four) = halves(7)
    assert sorted([*one, *two]) == list(range(7))
    assert [one.tolist(), two.tolist()] == [four.tolist(), three.tolist()]
    assert one.tolist() == halves(7)[0][0].tolist()


@pytest.mark.parametrize("codes", [[[3, 3, 9], [1, 1, 1]], [[0, 0, 5], [7, 7, 2]]])
def test_equal_combinations_have_equal_numbers(codes: list[list[int]]) -> None:
    found = joint([np.array(one) for one in codes])
    assert found[0] == found[1] != found[2]
    assert sorted(set(found.tolist())) == [0, 1]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("told", [predicted_together, predicted_by_many])
def test_a_class_for_each_sample_is_not_told_and_needs_no_warning(told) -> None:
    x = np.random.default_rng(0).normal(size=(300, 2))
    assert told(x, Label(np.arange(300), 300)) <= 0
