"""From scores to guesses, against counted pairs and mechanisms whose ε is known."""

import math
from statistics import NormalDist

import numpy as np
import pytest

from fedkin.audit.bounds import lower_epsilon
from fedkin.audit.guesses import confidence_of_each, proved, separation, separation_in_clients


def test_the_area_under_the_curve_counts_pairs():
    members, others = np.array([3.0, 1.0, 2.0]), np.array([2.0, 0.0])
    found = separation(members, others)
    assert found.auc == pytest.approx((2 + 1 + 1.5) / 6)
    assert (found.hits, found.members, found.others) == (pytest.approx(1 / 3), 3, 2)
    assert separation(others, others).auc == 0.5


def test_clients_that_differ_tell_nothing_of_their_samples():
    """One has low losses and many members, the other high ones and few: no sample was learned."""
    each = [(np.array([3.0] * 9), np.array([3.0])), (np.array([1.0]), np.array([1.0] * 9))]
    found = separation_in_clients(each)
    assert (found.auc, found.members, found.others) == (0.5, 10, 10)
    members, others = (np.concatenate(side) for side in zip(*each, strict=True))
    assert separation(members, others).auc == pytest.approx(0.9)
    learned = [(np.array([2.0]), np.array([1.0])), (np.array([12.0]), np.array([11.0, 13.0]))]
    assert separation_in_clients(learned).auc == pytest.approx(2 / 3)  # of three pairs


def gaussian_epsilon(sigma, delta):
    """ε of a Gaussian mechanism of sensitivity 1, exactly (Balle & Wang, 2018, Theorem 8)."""
    cdf = NormalDist().cdf

    def spent(epsilon):
        return cdf(0.5 / sigma - epsilon * sigma) - math.exp(epsilon) * cdf(
            -0.5 / sigma - epsilon * sigma
        )

    low, high = 0.0, 100.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if spent(middle) > delta else (low, middle)
    return high


@pytest.mark.parametrize("sigma", [0.6, 1.0, 4.0])
def test_two_hundred_audits_stay_below_the_truth(sigma):
    """Each canary is a coordinate of its own, seen with noise: the best case of an attacker."""
    truth, found, surer = gaussian_epsilon(sigma, 1e-5), [], []
    for audit in range(200):
        rng = np.random.default_rng([audit, int(10 * sigma)])
        inside = rng.random(300) < 0.5
        seen = inside + sigma * rng.standard_normal(300)
        found.append(proved(seen, inside, 1e-5).epsilon)
        surer.append(proved(seen, inside, 1e-5, confidence=0.999).epsilon)
    assert max(surer) < truth
    assert sum(one > truth for one in found) <= 10  # 5 %
    if sigma <= 1:
        assert np.mean(found) > 0.25 * truth


def test_without_noise_the_audit_has_teeth_and_without_a_trace_it_has_none():
    rng = np.random.default_rng(5)
    inside = rng.random(300) < 0.5
    assert proved(inside + 0.01 * rng.random(300), inside, 1e-5).epsilon > 2.5
    nothing = [proved(rng.random(300), inside, 1e-5).epsilon > 0 for _ in range(100)]
    assert sum(nothing) <= 12  # 5 of a hundred are expected to err


def test_canaries_without_a_score_are_passed_over_and_counted():
    """Whether a canary has a score may depend on its coin: δ of a guarantee is of all of them."""
    inside = np.arange(400) % 2 == 0
    scores = np.where(np.arange(400) < 40, inside.astype(float), np.nan)
    scores[40:60] = -np.inf
    found = proved(scores, inside, 1e-4)
    assert (found.right, found.guesses) == (40, 40)
    assert found.epsilon == lower_epsilon(400, 40, 40, 1e-4, confidence_of_each(0.95))
    assert found.epsilon < proved(scores[:40], inside[:40], 1e-4).epsilon


def test_few_canaries_and_ties_are_no_mistake():
    assert proved(np.zeros(2), np.array([True, False])).epsilon == 0
    assert proved(np.zeros(1), np.array([True])).guesses == 2
