"""What noise gives: ε of so many rounds, by the library dp-accounting (extra ``privacy``).

The neighbouring relation is one client more or less, with all its data; where clients add the
noise, a client's update or none in its place; where samples are protected, one sample more or less.
Accounting is by privacy loss distributions (PLD), with the library's own discretization.
"""

import importlib
from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from math import sqrt
from typing import Any, NamedTuple

from fedkin.core.errors import FedkinError

TOLERANCE = 1e-3  # of a multiplier that is searched for
FINE = 1e-4  # the library's own discretization
COARSE = 1e-3  # ten times as fast, and from above as well
CELLS = 400_000  # of a distribution: the library's memory grows with ε / interval
ORDERS = [*range(2, 65), 128, 256, 512]  # of Rényi's divergence: whole ones need no series


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
    """ε after so many rounds; 0 before the first.

    Args:
        mechanism: What a client goes through in a round.
        rounds: How many there were, from 0.

    Returns:
        ε, from 0.

    Raises:
        FedkinError: The extra ``privacy`` is not installed.
    """
    if rounds == 0:
        return 0.0
    release = Release(mechanism.noise, mechanism.share, rounds)
    return epsilon_of_releases((release,), mechanism.delta)


def bound(mechanism: Mechanism, rounds: int, last: int) -> float:
    """ε after so many rounds, from above: that of the next power of two, at most of ``last``.

    The library takes about a second a call, so that not every round has one of its own.

    Args:
        mechanism: What a client goes through in a round.
        rounds: How many there were, from 0.
        last: How many there will be.

    Returns:
        ε, from 0; never below the true one.
    """
    return epsilon(mechanism, next_power(rounds, max(last, rounds)))


def next_power(rounds: int, last: int) -> int:
    """The next power of two, at most ``last``; 0 of 0.

    Args:
        rounds: A number from 0.
        last: The largest result.

    Returns:
        1, 2, 4, …; 0 of 0.
    """
    at = 1
    while at < rounds:
        at *= 2
    return min(at, last) if rounds else 0


@cache
def noise_for(target: float, delta: float, share: float, rounds: int) -> float:
    """The smallest σ (to TOLERANCE) with which so many rounds cost at most ε = ``target``.

    Args:
        target: The largest ε, above 0.
        delta: δ, in (0, 1).
        share: The chance that a client takes part, in (0, 1].
        rounds: How many there will be.

    Returns:
        σ, in clips.

    Raises:
        FedkinError: No multiplier gives this ε, or the extra ``privacy`` is not installed.
    """
    library = _library()

    def event(noise: float) -> Any:
        return library.SelfComposedDpEvent(_event(noise, share), rounds)

    return _calibrated(event, target, delta, rounds, FINE)


class Release(NamedTuple):
    """A Gaussian mechanism on samples that are drawn by chance.

    noise: σ, in clips. share: q, the chance that a sample is drawn. times: how often.
    """

    noise: float
    share: float
    times: int


@cache
def epsilon_of_releases(
    releases: tuple[Release, ...], delta: float, interval: float = FINE
) -> float:
    """ε of all of them together, from above; coarser intervals are faster and a little larger.

    Args:
        releases: What is released of one sample.
        delta: δ, in (0, 1).
        interval: Of the discretization.

    Returns:
        ε, from 0.
    """
    some = [one for one in releases if one.times]
    if not some:
        return 0.0
    interval = max(interval, _rough(some, delta) / CELLS)
    losses = _distributions().identity(interval)
    for one in some:
        losses = losses.compose(_losses(one, interval))
    return float(losses.get_epsilon_for_delta(delta))


def largest_epsilon(
    costs: Sequence[tuple[Release, ...]], delta: float, interval: float = FINE
) -> float:
    """The largest ε of several, from above: only of those is a distribution made that may be it, by
    Rényi's bound of it, which takes a thousandth of the time.

    Args:
        costs: What is released of one sample, of each client.
        delta: δ, in (0, 1).
        interval: Of the discretization.

    Returns:
        ε, from 0.
    """
    most = 0.0
    for bound, releases in sorted(((renyi(one, delta), one) for one in costs), reverse=True):
        if bound <= most:
            break
        most = max(most, epsilon_of_releases(releases, delta, interval))
    return most


def noise_of_all(
    target: float, delta: float, costs: Sequence[tuple[Release, ...]], rounds: int
) -> float:
    """The largest ``noise_of_samples`` of several, searched for where it may be larger than that of
    those before.

    Args:
        target: The largest ε, above 0.
        delta: δ, in (0, 1).
        costs: The releases of each client, with σ for a multiplier of 1.
        rounds: How many there will be, for the message.

    Returns:
        A multiplier of every release's σ.

    Raises:
        FedkinError: No multiplier gives this ε.
    """
    noise = 0.0
    for releases in sorted(costs, key=lambda one: renyi(one, delta), reverse=True):
        # what is searched for is found to TOLERANCE
        below = tuple(one._replace(noise=(noise - TOLERANCE) * one.noise) for one in releases)
        enough = noise > TOLERANCE and (
            renyi(below, delta) <= target or epsilon_of_releases(below, delta, COARSE) <= target
        )
        if not enough:
            noise = max(noise, noise_of_samples(target, delta, releases, rounds))
    return noise


def renyi(releases: Sequence[Release], delta: float) -> float:
    """ε of all of them together, from above, by Rényi's divergences of whole orders.

    Args:
        releases: What is released of one sample.
        delta: δ, in (0, 1).

    Returns:
        ε, from 0.
    """
    accountant = _library("dp_accounting.rdp").RdpAccountant(ORDERS)
    for one in releases:
        if one.times:
            accountant.compose(_event(one.noise, one.share), one.times)
    return float(accountant.get_epsilon(delta))


def _losses(release: Release, interval: float) -> Any:
    """The distribution of privacy losses, as the library's accountant composes it."""
    if release.share >= 1:  # releases of Gaussian noise are one of less noise
        return _losses_of_one(release.noise / sqrt(release.times), 1.0, interval)
    return _losses_of_one(release.noise, release.share, interval).self_compose(release.times)


# A search over rounds asks for the same one again and again; each has up to CELLS numbers
@lru_cache(maxsize=8)
def _losses_of_one(noise: float, share: float, interval: float) -> Any:
    return _distributions().from_gaussian_mechanism(
        standard_deviation=noise, value_discretization_interval=interval, sampling_prob=share
    )


@cache
def noise_of_samples(
    target: float, delta: float, releases: tuple[Release, ...], rounds: int
) -> float:
    """The smallest factor (to TOLERANCE) of the releases' noise with which they cost at most
    ε = ``target``.

    Args:
        target: The largest ε, above 0.
        delta: δ, in (0, 1).
        releases: With σ for a multiplier of 1.
        rounds: How many there will be, for the message.

    Returns:
        A multiplier of every release's σ, at least 0.

    Raises:
        FedkinError: No multiplier gives this ε.
    """
    library = _library()

    def event(noise: float) -> Any:
        return library.ComposedDpEvent(
            [
                library.SelfComposedDpEvent(_event(noise * one.noise, one.share), one.times)
                for one in releases
            ]
        )

    return _calibrated(event, target, delta, rounds, COARSE)


def _calibrated(
    event: Callable[[float], Any], target: float, delta: float, rounds: int, interval: float
) -> float:
    library = _library()
    try:
        noise = library.calibrate_dp_mechanism(
            lambda: _fresh(max(interval, target / CELLS)),
            event,
            target,
            delta,
            library.LowerEndpointAndGuess(0.0, 1.0),
            tol=TOLERANCE,
        )
    except Exception as error:
        raise FedkinError(
            f"privacy.noise: no multiplier gives epsilon = {target:g} at "
            f"delta = {delta:g} over {rounds} rounds: raise epsilon or lower run.rounds"
        ) from error
    return float(noise)


def affordable_rounds(epsilon_after: Callable[[int], float], budget: float, rounds: int) -> int:
    """How many of the rounds cost at most ε = ``budget``.

    Args:
        epsilon_after: A number of rounds → their ε, which never falls.
        budget: The largest ε, above 0.
        rounds: The most that are asked for.

    Returns:
        From 1 to ``rounds``.

    Raises:
        FedkinError: One round costs more than the budget.
    """
    if epsilon_after(rounds) <= budget:
        return rounds
    if (one_round := epsilon_after(1)) > budget:
        raise FedkinError(
            f"privacy.budget is {budget:g}, and one round costs {one_round:.3g}: raise it, or "
            "privacy.noise"
        )
    low, high = 1, rounds
    while high - low > 1:
        middle = (low + high) // 2
        if epsilon_after(middle) <= budget:
            low = middle
        else:
            high = middle
    return low


def _rough(releases: list[Release], delta: float) -> float:
    """About how far the privacy losses reach: ε from above by Rényi's divergences, which need no
    memory, or the loss of one release.
    """
    least = min(one.noise for one in releases)
    return max(renyi(releases, delta), 0.5 / least**2 + 10 / least)


def _event(noise: float, share: float) -> Any:
    library = _library()
    gaussian = library.GaussianDpEvent(noise)
    return gaussian if share >= 1 else library.PoissonSampledDpEvent(share, gaussian)


def _fresh(interval: float = FINE) -> Any:
    return _library("dp_accounting.pld").PLDAccountant(
        _library().NeighboringRelation.ADD_OR_REMOVE_ONE, value_discretization_interval=interval
    )


def _distributions() -> Any:
    return _library("dp_accounting.pld.privacy_loss_distribution")


def _library(module: str = "dp_accounting") -> Any:
    try:
        return importlib.import_module(module)
    except ImportError:
        raise FedkinError(
            "[privacy] needs the package dp-accounting, the extra privacy: in fedkin's checkout, "
            "pip install -c constraints.txt '.[privacy]'"
        ) from None
