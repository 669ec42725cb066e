"""What privacy costs, against the library's own figures."""

import math
import resource

import pytest
from scipy.stats import norm

from fedkin.core.errors import FedkinError
from fedkin.runs.privacy import LEAST_DELTA
from fedkin.setup import accountant
from fedkin.setup.accountant import (
    COARSE,
    TOLERANCE,
    Mechanism,
    Release,
    epsilon,
    epsilon_of_releases,
    largest_epsilon,
    noise_for,
    noise_of_all,
    noise_of_samples,
    renyi,
)
from tests.experiment.privacy_examples import library


@pytest.mark.rotating
def test_epsilon_is_the_librarys_own():
    for noise, share, delta, rounds in ((1.3, 1.0, 1e-6, 40), (0.9, 0.25, 1e-5, 7)):
        found = epsilon(Mechanism(noise, share, delta), rounds)
        assert found == pytest.approx(library(noise, share, delta, rounds), abs=1e-6)


@pytest.mark.rotating
def test_a_target_is_met_and_hardly_more():
    noise = noise_for(3.0, 1e-5, 1.0, 12)
    assert 3.0 - 0.02 < library(noise, 1.0, 1e-5, 12) <= 3.0


@pytest.mark.rotating
def test_epsilon_is_a_number_down_to_the_least_delta():
    """What an experiment may not ask for has none: the accountant cuts off rarer events."""
    kinds = tuple(Release(noise, 0.01, 5_000) for noise in (0.7, 1.0, 1.3, 2.0))
    assert epsilon_of_releases(kinds, LEAST_DELTA, COARSE) < 100
    assert epsilon(Mechanism(1.0, 1.0, LEAST_DELTA), 100) < 200
    assert math.isinf(epsilon(Mechanism(1.0, 1.0, 1e-16), 100))


@pytest.mark.parametrize("release", [Release(0.01, 1.0, 3), Release(0.05, 0.5, 300)])
def test_hardly_any_noise_needs_no_more_memory_than_much(release):
    """The library's own interval of 1e-4 would be some hundred million cells."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    found = epsilon_of_releases((release,), 1e-5)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 2**20  # KiB
    mean = release.times / (
        2 * release.noise**2
    )  # of the loss of all, if nobody is drawn by chance
    assert 0.1 * release.share * mean < found < 2 * mean + 50 / release.noise


# clients of other sizes, that pass once over their samples: none costs surely less than another
OTHERS = tuple((Release(1.0, 10 / size, 3 * -(-size // 10)),) for size in range(50, 400, 40))


def counted(monkeypatch, name):
    """How often a function of the accountant is called."""
    calls, function = [], getattr(accountant, name)

    def heard(*given):
        calls.append(given)
        return function(*given)

    monkeypatch.setattr(accountant, name, heard)
    return calls


@pytest.mark.rotating
def test_the_largest_epsilon_is_found_without_most_distributions(monkeypatch):
    """Each takes seconds, and of a thousand clients some hundred may cost most."""
    expected = max(epsilon_of_releases(one, 1e-5, COARSE) for one in OTHERS)
    calls = counted(monkeypatch, "epsilon_of_releases")
    assert largest_epsilon(OTHERS, 1e-5, COARSE) == expected
    assert len(calls) <= 2
    assert largest_epsilon([(Release(1.0, 0.1, 0),)], 1e-5) == 0


@pytest.mark.rotating
def test_the_noise_of_all_is_that_of_whoever_needs_most(monkeypatch):
    expected = max(noise_of_samples(2.0, 1e-5, one, 3) for one in OTHERS)
    calls = counted(monkeypatch, "noise_of_samples")
    assert noise_of_all(2.0, 1e-5, OTHERS, 3) == expected
    assert len(calls) <= 2
    assert noise_of_all(2.0, 1e-5, OTHERS[::-1], 3) == expected


def test_renyis_bound_is_above_the_distributions():
    for one in (*OTHERS[::4], (Release(0.5, 1.0, 3), Release(2.0, 0.1, 40))):
        assert epsilon_of_releases(one, 1e-5, COARSE) <= renyi(one, 1e-5)


@pytest.mark.slow
def test_a_large_target_is_met():
    noise = noise_for(90.0, 1e-5, 1.0, 3)
    assert 88.0 < epsilon(Mechanism(noise, 1.0, 1e-5), 3) <= 90.0


@pytest.mark.parametrize("target", [0.001, 0.03, 1.0, 8.0])
def test_without_draws_noise_is_that_of_the_closed_form(target):
    """δ(ε) = Φ(μ/2 − ε/μ) − e^ε Φ(−μ/2 − ε/μ), μ = √rounds / σ (Balle and Wang 2018, theorem 8)."""
    noise, rounds = noise_for(target, 1e-5, 1.0, 100), 100

    def delta(sigma):
        mean = math.sqrt(rounds) / sigma
        both = norm.cdf([mean / 2 - target / mean, -mean / 2 - target / mean])
        return both[0] - math.exp(target) * both[1]

    assert delta(noise) <= 1e-5 < delta(noise * (1 - 3 * TOLERANCE))


def test_a_small_target_gets_no_more_noise_than_it_needs():
    """A discretization as coarse as the losses themselves asked for six times as much (480)."""
    noise = noise_of_samples(0.01, 1e-5, (Release(1.0, 0.01, 1000),), 1)
    fine = epsilon_of_releases((Release(noise, 0.01, 1000),), 1e-5, 1e-6)
    assert 0.0099 < fine <= 0.01


def test_an_epsilon_that_no_noise_gives():
    with pytest.raises(FedkinError, match=r"no multiplier gives epsilon = 1e-13 .* over 4 rounds"):
        noise_for(1e-13, LEAST_DELTA, 1.0, 4)
