"""What noise gives: ε of so many rounds, by the library dp-accounting (extra ``privacy``).

The neighbouring relation is one client more or less, with all its data. Accounting is by privacy
loss distributions (PLD), with the library's own discretization.
"""

import importlib
from functools import cache
from typing import Any, NamedTuple

from fedkin.core.errors import FedkinError

TOLERANCE = 1e-3  # of a multiplier that is searched for


class Mechanism(NamedTuple):
    """A Gaussian mechanism that a client goes through once a round.

    noise: σ, in clips. share: the chance that the client takes part, drawn in secret; 1: always, or
    known to others. delta: δ.
    """

    noise: float
    share: float
    delta: float


@cache
def epsilon(mechanism: Mechanism, rounds: int) -> float:
    """ε after so many rounds; 0 before the first."""
    if rounds == 0:
        return 0.0
    accountant = _fresh()
    accountant.compose(_event(mechanism.noise, mechanism.share), rounds)
    return float(accountant.get_epsilon(mechanism.delta))


def bound(mechanism: Mechanism, rounds: int, last: int) -> float:
    """ε after so many rounds, from above: that of the next power of two, at most of ``last``.

    The library takes about a second a call, so that not every round has one of its own.
    """
    at = 1
    while at < rounds:
        at *= 2
    return epsilon(mechanism, min(at, max(last, rounds)) if rounds else 0)


@cache
def noise_for(target: float, delta: float, share: float, rounds: int) -> float:
    """The smallest σ (to TOLERANCE) with which so many rounds cost at most ε = ``target``."""
    library = _library()

    def event(noise: float) -> Any:
        return library.SelfComposedDpEvent(_event(noise, share), rounds)

    try:
        found = library.calibrate_dp_mechanism(
            _fresh, event, target, delta, library.LowerEndpointAndGuess(0.0, 1.0), tol=TOLERANCE
        )
    except Exception as error:
        raise FedkinError(
            f"privacy.noise: no multiplier gives epsilon = {target:g} at "
            f"delta = {delta:g} over {rounds} rounds: raise epsilon or lower run.rounds"
        ) from error
    return float(found)


def rounds_within(mechanism: Mechanism, budget: float, rounds: int) -> int:
    """How many of the rounds cost at most ε = ``budget``."""
    if epsilon(mechanism, rounds) <= budget:
        return rounds
    low, high = 0, rounds
    while high - low > 1:
        middle = (low + high) // 2
        if epsilon(mechanism, middle) <= budget:
            low = middle
        else:
            high = middle
    return low


def _event(noise: float, share: float) -> Any:
    library = _library()
    gaussian = library.GaussianDpEvent(noise)
    return gaussian if share >= 1 else library.PoissonSampledDpEvent(share, gaussian)


def _fresh() -> Any:
    return importlib.import_module("dp_accounting.pld").PLDAccountant(
        _library().NeighboringRelation.ADD_OR_REMOVE_ONE
    )


def _library() -> Any:
    try:
        return importlib.import_module("dp_accounting")
    except ImportError:
        raise FedkinError(
            "[privacy] needs the package dp-accounting: install fedkin[privacy], its extra"
        ) from None
