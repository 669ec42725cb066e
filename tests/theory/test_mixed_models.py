"""PPFL's Theorem 3: its objective is a mixed model's, and its minimiser what
statsmodels predicts.
"""

import tracemalloc

import numpy as np
import pytest
from scipy import sparse

from fedkin.core.errors import FedkinError
from fedkin.theory.mixed_models import (
    canonical_of,
    deviation_penalty,
    laplacian_penalty,
    personal_coefficients,
)

SIZES = (14, 33, 9, 21, 40, 17)


def people(family: str, own: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """x [n, own] with an intercept, y, owner: coefficients differ between clients, sizes too."""
    rng = np.random.default_rng(4)
    owner = np.repeat(np.arange(len(SIZES)), SIZES)
    x = np.column_stack([np.ones(len(owner)), rng.normal(size=(len(owner), own - 1))])
    coefficients = (
        np.array([0.4, -0.8, 0.5])[:own]
        + rng.normal(size=(len(SIZES), own)) * np.array([0.9, 0.5, 0.2])[:own]
    )
    link = (x * coefficients[owner]).sum(1)
    if family == "gaussian":
        return x, link + 0.7 * rng.normal(size=len(owner)), owner
    if family == "bernoulli":
        return x, (rng.random(len(owner)) < 1 / (1 + np.exp(-link))).astype(float), owner
    return x, rng.poisson(np.exp(0.5 * link)).astype(float), owner


def test_the_penalties_are_equal_with_equal_affinities() -> None:
    """Equation 4 with w_ij = 1 and λ = 1/M is equation 50's second term."""
    rng = np.random.default_rng(0)
    clients, d = 7, 3
    theta, c = rng.normal(size=(d, d)), rng.normal(size=(clients, d))
    pull = laplacian_penalty(c, np.ones((clients, clients)), 1 / clients)
    assert pull == pytest.approx(deviation_penalty(c @ theta.T, theta))
    assert pull == pytest.approx(np.square(c - c.mean(0)).sum())
    unequal = np.ones((clients, clients)) - np.eye(clients)[::-1] * 0.7
    assert (
        laplacian_penalty(c, unequal, 1 / clients) < 0.95 * pull
    )  # W says more than a mixed model can
    precision = np.linalg.inv(theta @ theta.T)
    apart = c @ theta.T - (c @ theta.T).mean(0)
    assert pull == pytest.approx(np.einsum("ia,ab,ib->", apart, precision, apart))


def test_the_penalty_is_found_in_the_memory_of_the_affinities() -> None:
    rng = np.random.default_rng(0)
    c, w = rng.random((300, 20)), rng.random((300, 300))
    tracemalloc.start()
    found = laplacian_penalty(c, w, 0.7)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert found == pytest.approx(0.35 * (w * np.square(c[:, None] - c[None]).sum(2)).sum())
    assert most < w.nbytes  # all differences would take 20 times that


def test_gaussian_models_are_the_best_linear_unbiased_predictions() -> None:
    """MixedLM's fixed plus random effects, at the covariance that it estimated."""
    from statsmodels.regression.mixed_linear_model import MixedLM

    x, y, owner = people("gaussian", 2)
    fit = MixedLM(y, x, owner, x).fit(reml=True)
    blup = np.stack([fit.fe_params + fit.random_effects[k] for k in range(len(SIZES))])
    theta = canonical_of(fit.cov_re, len(y))
    ours = personal_coefficients(x, y, owner, theta, "gaussian", dispersion=fit.scale)
    np.testing.assert_allclose(ours, blup, atol=2e-5)
    np.testing.assert_allclose(ours.mean(0), fit.fe_params, atol=2e-5)
    alone = np.stack(
        [np.linalg.lstsq(x[owner == k], y[owner == k], rcond=None)[0] for k in range(len(SIZES))]
    )
    assert (
        np.abs(alone - blup).max() > 0.05
    )  # it is no accident: without the penalty they are elsewhere
    other = personal_coefficients(
        x, y, owner, canonical_of(np.asarray(fit.cov_re) / 2, len(y)), "gaussian", fit.scale
    )
    assert np.abs(other - blup).max() > 0.01


@pytest.mark.parametrize(("family", "name"), [("bernoulli", "Binomial"), ("poisson", "Poisson")])
def test_generalized_models_are_the_posterior_mode(family: str, name: str) -> None:
    """statsmodels' MAP estimate of a random intercept and slope, at the deviations that
    it found.
    """
    import statsmodels.genmod.bayes_mixed_glm as bayes

    x, y, owner = people(family, 2)
    at = np.arange(len(y))
    design = sparse.hstack(
        [sparse.csr_matrix((x[:, j], (at, owner)), (len(y), len(SIZES))) for j in range(2)]
    ).tocsr()
    kind = np.repeat([0, 1], len(SIZES))
    recipe = getattr(bayes, f"{name}BayesMixedGLM")(y, x, design, kind, vcp_p=0.5, fe_p=1e4)
    fit = recipe.fit_map(minim_opts={"maxiter": 2000, "gtol": 1e-8})
    deviations = np.exp(fit.vcp_mean)
    mode = fit.fe_mean + fit.vc_mean.reshape(2, len(SIZES)).T
    theta = canonical_of(np.diag(deviations**2), len(y))
    ours = personal_coefficients(x, y, owner, theta, family)
    np.testing.assert_allclose(ours, mode, atol=2e-3)
    assert np.abs(ours - ours.mean(0)).max() > 0.1


def test_mistakes_are_told() -> None:
    x, y, owner = people("gaussian", 2)
    with pytest.raises(FedkinError, match="unknown family 'gausian': did you mean 'gaussian'"):
        personal_coefficients(x, y, owner, np.eye(2), "gausian")
    with pytest.raises(FedkinError, match="full rank"):
        personal_coefficients(x, y, owner, np.ones((2, 2)), "gaussian")
    with pytest.raises(FedkinError, match=r"canonical \[d, K\]"):
        personal_coefficients(x, y, owner, np.eye(3), "gaussian")
    with pytest.raises(FedkinError, match="positive definite"):
        canonical_of([[1.0, 2.0], [2.0, 1.0]], 5)
