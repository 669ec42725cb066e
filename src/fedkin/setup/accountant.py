"""What noise gives: ε of so many rounds, by the library dp-accounting (extra ``privacy``).

The neighbouring relation is one client more or less, with all its data; where clients add the
noise, a client's update or none in its place; where samples are protected, one sample more or less.
Accounting is by privacy loss distributions (PLD), with the library's own discretization.
"""

import importlib
from collections.abc import Callable, Sequence
from functools import cache, lru_cache, partial
from math import sqrt
from typing import Any, NamedTuple

from fedkin.core.errors import FedkinError

TOLERANCE = 1e-3  # of a multiplier that is searched for; a thousandth of one above 1
MOST_NOISE = 1e9  # that is searched for
FINE = 1e-4  # the library's own discretization
COARSE = 1e-3  # ten times as fast, and from above as well
CELLS = 400_000  # of a distribution, at most: the library's memory grows with ε / interval
PARTS = 10  # of the usual loss of one release: a coarser discretization overstates ε
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
    return _smallest_noise(target, delta, (Release(1.0, share, rounds),), rounds, FINE)


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
        interval: Of the discretization; finer where ε is small, coarser where it is large.

    Returns:
        ε, from 0.
    """
    some = [one for one in releases if one.times]
    if not some:
        return 0.0
    finest = min(_usual_loss(one) for one in some) / PARTS
    interval = max(min(interval, finest), _rough(some, delta) / CELLS)
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
        below = noise - _tolerance(noise)  # what is searched for is found to this
        if below <= 0 or not _enough(below, target, delta, releases, COARSE):
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


def _usual_loss(release: Release) -> float:
    """About how far the privacy loss of one of them lies from its mean."""
    if release.share >= 1:
        return sqrt(release.times) / release.noise
    return release.share / release.noise


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
    return _smallest_noise(target, delta, releases, rounds, COARSE)


def _smallest_noise(
    target: float, delta: float, releases: tuple[Release, ...], rounds: int, interval: float
) -> float:
    """A factor of all noise by bisection: the library's own search keeps one interval for all ε."""
    enough = partial(_enough, target=target, delta=delta, releases=releases, interval=interval)
    high = 1.0
    while renyi(_with_noise(releases, high), delta) > target:
        high *= 2
        if high > MOST_NOISE:
            raise FedkinError(
                f"privacy.noise: no multiplier gives epsilon = {target:g} at "
                f"delta = {delta:g} over {rounds} rounds: raise epsilon or lower run.rounds"
            )
    low = 0.0
    while high - low > _tolerance(high):
        middle = (low + high) / 2
        if enough(middle):
            high = middle
        else:
            low = middle
    return high


def _enough(
    noise: float, target: float, delta: float, releases: tuple[Release, ...], interval: float
) -> bool:
    """Whether ε = ``target`` pays for the releases with so many times their noise."""
    noised = _with_noise(releases, noise)
    if renyi(noised, delta) <= target:  # from above, in a thousandth of the time
        return True
    return epsilon_of_releases(noised, delta, interval) <= target


def _with_noise(releases: tuple[Release, ...], factor: float) -> tuple[Release, ...]:
    return tuple(one._replace(noise=factor * one.noise) for one in releases)


def _tolerance(noise: float) -> float:
    return TOLERANCE * max(1.0, noise)


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
