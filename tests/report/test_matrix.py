"""Groups that a method numbers anew in every round keep their numbers."""

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

from fedkin.report.matrix import Matrix, _partners, matched


def test_the_same_pairs_as_by_search() -> None:
    rng = np.random.default_rng(0)
    seen = set()
    for _ in range(400):
        rows, columns = rng.integers(1, 6, size=2)
        overlap = rng.integers(0, 9, size=(rows, columns)) * rng.integers(0, 2, size=(rows, 1))
        best = linear_sum_assignment(overlap, maximize=True)
        theirs = {(i, j) for i, j in zip(*best, strict=True) if overlap[i, j]}
        ours = {(i, j) for i, j in _partners(overlap) if overlap[i, j]}
        assert ours == theirs
        largest = (overlap == overlap.max(1, keepdims=True)) & (overlap > 0)
        seen.add(bool((largest.sum(1) <= 1).all() and (largest.sum(0) <= 1).all()))
    assert seen == {True, False}  # found at once, and searched for


@pytest.mark.parametrize("numbers", [[5.0, 5.0, 3.0, 3.0], [3.0, 3.0, 5.0, 5.0]])
def test_the_last_round_names_the_groups(numbers: list[float]) -> None:
    values = np.array([numbers, [0.0, 0.0, 1.0, 1.0]])
    found = matched(Matrix([1, 2], [4, 6, 7, 9], values)).values
    assert found.tolist() == [[0.0, 0.0, 1.0, 1.0], [0.0, 0.0, 1.0, 1.0]]
