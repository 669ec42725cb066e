"""Groups that a method numbers anew in every round keep their numbers."""

import json
import tracemalloc
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

from fedkin.report.matrix import Matrix, _partners, distinct, matched, note_lists, note_matrix
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


def test_a_few_weights_of_many_clients_take_the_room_of_their_array_alone() -> None:
    """Once each of them was a list with a place for every client."""
    count = 1200
    told = [(1, client, json.dumps({str((client + 1) % count): 0.5})) for client in range(count)]

    def rows(query: str, *values: object) -> list[tuple[object, ...]]:
        return [(1,)] if "DISTINCT" in query else told

    def read_all(texts: list[str]) -> list[object]:
        return [json.loads(text) for text in texts]

    run: Any = SimpleNamespace(clients=range(count), rows=rows, read_all=read_all)
    tracemalloc.start()
    stack = note_lists(run, "weights", 1)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert stack is not None
    assert peak < 1.3 * stack.values.nbytes
    assert (stack.values[0, 7, 8], stack.values[0, 7].sum()) == (0.5, 0.5)


@pytest.mark.parametrize("other", [10**400, True, "1", [1]])
def test_what_is_no_number_is_no_list_of_numbers(tmp_path: Path, other: object) -> None:
    notes = [(1, 0, "mix", [0.5, other]), (1, 1, "mix", {"0": other}), (1, 2, "mix", {"2": 1})]
    notes += [(1, 0, "one", other), (1, 1, "one", 1)]
    with opened(noted(tmp_path / "run", notes)) as run:
        stack = note_lists(run, "mix", 1)
        assert stack is not None
        assert (stack.clients, stack.values.tolist()) == ([2], [[[0.0, 0.0, 1.0]]])
        assert note_matrix(run, "one") is None


def test_a_number_that_was_not_finite_is_nan_beside_the_others(tmp_path: Path) -> None:
    """A record has null for it, since JSON has no nan: the other numbers are shown all the same."""
    notes = [(1, 0, "one", None), (1, 1, "one", 1.0), (1, 0, "mix", [0.5, None])]
    notes += [(1, 1, "mix", {"1": None})]
    with opened(noted(tmp_path / "run", notes)) as run:
        matrix, stack = note_matrix(run, "one"), note_lists(run, "mix", 1)
        assert matrix is not None
        assert stack is not None
        np.testing.assert_array_equal(matrix.values, [[np.nan, 1.0]])
        np.testing.assert_array_equal(stack.values[0, 0, :2], [0.5, np.nan])
        np.testing.assert_array_equal(stack.values[0, 1, :2], [0.0, np.nan])
