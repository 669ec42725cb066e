"""How many rounds keep a budget."""

import pickle

import pytest

from fedkin.bench.budgets import Allowance, Used, fitting, rounds_within


def test_everything_counts_once() -> None:
    assert Used(100, (7, 8, 9), 20).total == 144


@pytest.mark.parametrize(
    ("used", "budget", "rounds"),
    [
        (Used(0, (1, 5, 1, 1), 0), 6, 2),
        (Used(0, (1, 5, 1, 1), 0), 5.9, 1),
        (Used(0, (1, 5, 1, 1), 2), 8, 2),
        (Used(4, (1, 1), 4), 7.9, 0),
        (Used(0, (1, 5, 1, 1), 0), 11, 7),  # a first round that is special says nothing of others
        (Used(0, (0, 0), 0), 1, 9),
        (Used(0, (1, 1), 0), 100, 9),
    ],
)
def test_rounds_are_added_up_and_not_multiplied(used: Used, budget: float, rounds: int) -> None:
    assert fitting(used, budget, 9) == rounds


def within(each: list[float], budget: float, slack: float = 0.0) -> tuple[list[int], int]:
    """(what was run, the answer), where four rounds are the equal ones and known, and nine the
    most.
    """
    runs: list[int] = []

    def used_by(rounds: int) -> Used:
        runs.append(rounds)
        return Used(0, tuple(each[:rounds]), 0)

    start = Used(0, tuple(each[:4]), 0)
    answer = rounds_within(budget, start, used_by, rounds=4, most=9, slack=slack)
    return runs, answer


def test_a_guess_beyond_the_known_rounds_is_corrected_by_its_own_run() -> None:
    assert within([1] * 9, 6) == ([6], 6)
    assert within([1, 1, 1, 1, 1, 3, 1, 1, 1], 7) == ([7, 5], 5)
    assert within([1, 1, 3, 1, 3, 1, 1, 1, 1], 11) == ([9, 7], 7)


def test_fewer_rounds_are_those_that_the_run_itself_counted() -> None:
    assert within([1, 9, 1, 1], 2) == ([1], 1)
    assert within([3] * 4, 2) == ([], 0)


def test_a_few_more_rounds_within_the_slack_are_the_equal_ones() -> None:
    assert within([1] * 9, 5, slack=0.25) == ([6], 6)
    assert within([1] * 9, 4.1, slack=0.25) == ([4], 4)


def test_a_run_that_fails_is_the_answer() -> None:
    start = Used(0, (1,) * 4, 0)
    assert rounds_within(2, start, lambda number: None, rounds=4, most=9, slack=0.0) == 2


def test_a_budget_is_that_of_the_rows_own_seed() -> None:
    allowance = Allowance({3: 100, 4: 200}, {3: 10, 4: 20})
    assert (allowance.of("bytes", 4), allowance.of("compute", 4)) == (200, 20)
    assert allowance.of("bytes", 9) == 100  # fedavg failed under it


def test_an_allowance_is_given_to_a_worker_process_also_where_fedavg_has_none() -> None:
    unknown = Allowance(missing="fedavg could not be run")
    assert pickle.loads(pickle.dumps(unknown)) == unknown
