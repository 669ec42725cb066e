"""Every boundary takes what a stranger might send: one sentence or a use, in bounded time."""

import os

import pytest

from fedkin.core.errors import FedkinError
from tests.fuzz.boundaries import BOUNDARIES, Boundary
from tests.fuzz.running import tried

NIGHTLY = 10_000
QUICK = 60  # at most, where nobody asks for more: FEDKIN_FUZZ=500


@pytest.mark.parametrize("name", BOUNDARIES)
def test_a_stranger_at_the_boundary(name: str) -> None:
    boundary = BOUNDARIES[name]
    cases = int(os.environ.get("FEDKIN_FUZZ", min(QUICK, boundary.cases)))
    found = tried(boundary, cases)
    assert found.cases > 0


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
        tried(Boundary(5, strategy, odd), 5)
    with pytest.raises(AssertionError):
        tried(Boundary(5, strategy, silent), 5)
