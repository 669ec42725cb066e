"""COMET's Theorem IV.7 against brute force."""

import numpy as np
import pytest
from scipy.optimize import minimize

from fedkin.core.errors import FedkinError
from fedkin.theory.linear_regression import (
    alpha_star,
    combination,
    expected_error,
    lambda_star,
    minimiser,
)

SETTINGS = [
    (1.0, [0.5, 1.0, 2.0], 3.0, 2.0),
    (2.0, [2.0, 5.0, 200.0], 7.0, 0.5),
    (0.3, [1.0, 1.0, 1.0, 4.0, 0.2], 1.0, 10.0),
]


def bayes_error(k: int, sigma: float, v: np.ndarray, beta: float) -> float:
    """Smallest error of any linear, unbiased combination: numerically, over weights
    that sum to 1.
    """
    clients = len(v)

    def error(free: np.ndarray) -> float:
        weights = np.insert(free, k, 1 - free.sum())
        return expected_error(k, weights, sigma, v, beta)

    best = minimize(error, np.zeros(clients - 1), method="BFGS", tol=1e-12)
    return float(best.fun)


@pytest.mark.parametrize(("sigma", "v", "beta", "nu"), SETTINGS)
def test_lambda_and_alpha_star_minimise_the_expected_error(
    sigma: float, v: list[float], beta: float, nu: float
) -> None:
    spread = np.array(v)
    alpha, lam = alpha_star(sigma, spread, beta), lambda_star(sigma, spread, nu)
    np.testing.assert_allclose(alpha.sum(axis=1), 1)
    for k in range(len(v)):
        best = expected_error(k, combination(k, lam[k], alpha[k], beta, nu), sigma, spread, beta)
        assert best == pytest.approx(bayes_error(k, sigma, spread, beta), rel=1e-5)
        for factor in (0.5, 0.9, 1.1, 2.0):
            weights = combination(k, factor * lam[k], alpha[k], beta, nu)
            assert expected_error(k, weights, sigma, spread, beta) > best
        rng = np.random.default_rng(k)
        for _ in range(20):
            other = alpha[k] + 0.02 * (lambda d: d - d.mean())(rng.normal(size=len(v)))
            assert (
                expected_error(k, combination(k, lam[k], other, beta, nu), sigma, spread, beta)
                >= best - 1e-12
            )


def test_a_client_that_is_nearly_the_centre_itself_has_all_the_weight() -> None:
    for sigma, v in ((0.0, [1e-9, 1.0]), (1e-9, [0.0, 3.0])):
        np.testing.assert_allclose(alpha_star(sigma, v, 1.0), [[1, 0], [1, 0]], atol=1e-12)
        assert np.isfinite(alpha_star(sigma, v, 1.0, printed=True)).all()


@pytest.mark.parametrize(("sigma", "v", "beta", "nu"), SETTINGS)
def test_the_printed_alpha_does_not(sigma: float, v: list[float], beta: float, nu: float) -> None:
    printed = alpha_star(sigma, v, beta, printed=True)
    lam = lambda_star(sigma, v, nu)
    assert np.abs(printed.sum(axis=1) - 1).max() > 1e-3
    assert expected_error(0, combination(0, lam[0], printed[0], beta, nu), sigma, v, beta) == float(
        "inf"
    )
    scaled = printed[0] / printed[0].sum()  # its proportions are right
    np.testing.assert_allclose(scaled, alpha_star(sigma, v, beta)[0])


def test_expected_error_against_simulation() -> None:
    rng = np.random.default_rng(0)
    sigma, v, beta, runs = 1.5, np.array([0.7, 1.5, 3.0]), 4.0, 200_000
    weights = np.array([0.5, 0.3, 0.2])
    w = rng.uniform(-10, 10, runs)[:, None] + v * rng.normal(size=(runs, 3))
    estimate = w + sigma / np.sqrt(beta) * rng.normal(size=(runs, 3))
    for k in range(3):
        simulated = ((estimate @ weights - w[:, k]) ** 2).mean()
        assert expected_error(k, weights, sigma, v, beta) == pytest.approx(simulated, rel=0.02)


def test_minimiser_minimises() -> None:
    rng = np.random.default_rng(1)
    x, p = rng.normal(size=(12, 3)), rng.normal(size=(8, 3))
    y, taught, lam = rng.normal(size=12), rng.normal(size=3), 1.7
    own = np.linalg.lstsq(x, y, rcond=None)[0]
    closed = minimiser(x.T @ x, p.T @ p, lam, own, taught)
    found = minimize(
        lambda w: ((x @ w - y) ** 2).sum() + lam * ((p @ (w - taught)) ** 2).sum(),
        np.zeros(3),
        tol=1e-12,
    ).x
    np.testing.assert_allclose(closed, found, atol=1e-5)
    np.testing.assert_allclose(minimiser(x.T @ x, p.T @ p, 0.0, own, taught), own)
    np.testing.assert_allclose(minimiser(x.T @ x, p.T @ p, 1e12, own, taught), taught, atol=1e-6)
    estimates = rng.normal(size=(3, 3))
    mixed = minimiser(
        4 * np.eye(3), 2 * np.eye(3), lam, estimates[1], np.full(3, 1 / 3) @ estimates
    )
    np.testing.assert_allclose(combination(1, lam, np.full(3, 1 / 3), 4, 2) @ estimates, mixed)


def test_theory_refuses_what_has_no_answer() -> None:
    with pytest.raises(FedkinError, match="λPᵀP of full rank"):
        minimiser(np.zeros((2, 2)), np.eye(2), 0.0, np.ones(2), np.ones(2))
    with pytest.raises(FedkinError, match="every v other than 0"):
        lambda_star(1.0, [0.0, 1.0], 1.0)
    with pytest.raises(FedkinError, match="at least two clients"):
        alpha_star(1.0, [1.0], 1.0)
