"""The statistics of an audit against closed forms, and 200 audits of a mechanism that is known."""

import math

import pytest
from scipy.stats import binom

from fedkin.audit.bounds import lower_epsilon, p_value


def test_all_right_at_delta_zero_has_a_closed_form():
    """(e^ε / (1 + e^ε))^r = 1 − confidence."""
    for guesses, confidence in ((7, 0.95), (40, 0.9), (100, 0.99)):
        q = (1 - confidence) ** (1 / guesses)
        expected = math.log(q / (1 - q))
        found = lower_epsilon(guesses + 3, guesses, guesses, 0.0, confidence)
        assert found == pytest.approx(max(expected, 0), abs=1e-6)
    assert lower_epsilon(4, 4, 4) == 0.0  # 1/16 is more than 5 %


def test_the_p_value_is_the_theorems():
    """m = 5, r = 4, v = 3, ε = ln 3, δ = 0.01, by hand: q = 3/4."""
    tail = 4 * 0.75**3 * 0.25 + 0.75**4
    at = [binom.pmf(k, 4, 0.75) for k in (2, 1, 0)]
    slack = max(at[0], (at[0] + at[1]) / 2, sum(at) / 3)
    assert p_value(5, 4, 3, math.log(3), 0.0) == pytest.approx(tail)
    assert p_value(5, 4, 3, math.log(3), 0.01) == pytest.approx(tail + 2 * 5 * 0.01 * slack)


def test_a_bound_falls_with_delta_and_with_mistakes():
    bounds = [lower_epsilon(200, 100, right) for right in (60, 70, 90, 100)]
    assert bounds == sorted(bounds)
    assert bounds[0] < 0.2 < bounds[1]
    assert lower_epsilon(200, 100, 90, 1e-2) < lower_epsilon(200, 100, 90, 1e-4) < bounds[2]
    assert lower_epsilon(200, 100, 50) == 0.0
