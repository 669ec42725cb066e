"""Every boundary takes what a stranger might send: one sentence or a use, in bounded time."""

import os

import pytest

from fedkin.core.errors import FedkinError
from tests.fuzz.boundaries import BOUNDARIES, Boundary
from tests.fuzz.running import tried

NIGHTLY = 10_000
QUICK = 200  # where nobody asks for another number: FEDKIN_FUZZ=60


@pytest.mark.rotating
@pytest.mark.parametrize("name", BOUNDARIES)
def test_a_stranger_at_the_boundary(name: str) -> None:
    cases = int(os.environ.get("FEDKIN_FUZZ", QUICK))
    assert tried(BOUNDARIES[name], cases).cases == cases


@pytest.mark.slow
@pytest.mark.parametrize("name", BOUNDARIES)
def test_many_strangers_at_the_boundary(name: str) -> None:
    tried(BOUNDARIES[name], NIGHTLY, seed=0)


def test_a_bug_is_seen() -> None:
    """What is no FedkinError, what takes too long, and what says nothing."""

    def odd(case: object) -> None:
        raise KeyError(case)

    def silent(case: object) -> None:
        raise FedkinError("")

    strategy = BOUNDARIES["names of files"].strategy
    with pytest.raises(KeyError):
        tried(Boundary(strategy, odd), 5)
    with pytest.raises(AssertionError):
        tried(Boundary(strategy, silent), 5)
