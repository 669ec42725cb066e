"""Groups that a method numbers anew in every round keep their numbers."""

from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

from fedkin.report.matrix import Matrix, _partners, distinct, matched, note_lists
from fedkin.report.records import opened
from tests.report.collaboration_examples import noted


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


def test_a_global_view_that_is_the_personal_one_is_left_out() -> None:
    one = Matrix([1, 2], [5, 3], np.array([[0.5, np.nan], [0.25, 0.75]]))
    near = Matrix([1, 2], [5, 3], one.values + 1e-13)
    other = Matrix([1, 2], [5, 3], one.values + 1e-9)
    assert list(distinct({"personal": one, "global": near})) == ["personal"]
    assert list(distinct({"personal": one, "global": other})) == ["personal", "global"]
    swapped = Matrix([1, 2], [3, 5], one.values)
    assert list(distinct({"personal": one, "global": swapped})) == ["personal", "global"]
    assert list(distinct({"personal": one})) == ["personal"]
    assert list(distinct({"global": one})) == ["global"]


def test_the_last_note_is_of_the_last_round_in_whatever_order_they_stand(tmp_path: Path) -> None:
    told = [(at, k, "mix", [at / 10, k / 10]) for at in (3, 1, 2) for k in (2, 0, 1)]
    with opened(noted(tmp_path, told)) as run:
        last, two = note_lists(run, "mix", 1), note_lists(run, "mix", 2)
    assert last is not None
    assert two is not None
    assert (last.rounds, last.clients, last.among) == ([3], [0, 1, 2], 3)
    assert last.values[0].tolist() == [[0.3, 0.0], [0.3, 0.1], [0.3, 0.2]]
    assert two.rounds == [1, 3]
