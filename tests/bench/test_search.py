"""What a method tries: spread over the grid, and keys that the method has."""

import pytest

from fedkin.bench.search import search_of, trials
from fedkin.methods import METHODS, taken


@pytest.mark.parametrize("method", list(METHODS))
def test_what_a_method_tries_is_its_own(method: str) -> None:
    own, fixed = search_of(method)
    taken(method, [key for values in [*own, fixed] for key in values])


@pytest.mark.parametrize(("rates", "own"), [(3, 2), (4, 2), (4, 6), (3, 1)])
def test_trials_are_spread_and_then_the_whole_grid(rates: int, own: int) -> None:
    values = [{"k": n} for n in range(own)]
    points = trials([0.1 * n for n in range(1, rates + 1)], values, 64)
    assert len({(lr, hyper["k"]) for lr, hyper in points}) == len(points) == rates * own
    few = trials([0.1 * n for n in range(1, rates + 1)], values, rates)
    assert len({lr for lr, _ in few}) == rates
