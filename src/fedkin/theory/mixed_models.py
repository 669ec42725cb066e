"""PPFL's Theorem 3: with all clients alike in W, its objective is that of a generalized linear
mixed model.

A mixed model has y ~ g⁻¹(xᵀ(b_f + b_i)) with b_i ~ N(0, G). PPFL has b_i' = θ c_i and pulls the c_i
together.
"""

from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from scipy.optimize import minimize

from fedkin.core.errors import FedkinError, unknown
from fedkin.core.family import FAMILIES

__all__ = [
    "canonical_of",
    "deviation_penalty",
    "laplacian_penalty",
    "personal_coefficients",
]

Floats = npt.NDArray[np.float64]


def laplacian_penalty(memberships: Any, affinity: Any, lam: float) -> float:
    """(λ/2) Σ_ij w_ij ‖c_i − c_j‖².

    Args:
        memberships: c_i [clients, K].
        affinity: w_ij [clients, clients].
        lam: λ, the weight of the penalty, at least 0.

    Returns:
        A number, at least 0 where no w_ij is negative.

    Source: PPFL, equation 4.
    """
    c, w = np.asarray(memberships, dtype=np.float64), np.asarray(affinity, dtype=np.float64)
    # row by row: all differences at once would take K times the memory of the affinities
    rows = (of_row @ np.square(c - one).sum(1) for of_row, one in zip(w, c, strict=True))
    return float(lam / 2 * sum(rows))


def deviation_penalty(coefficients: Any, canonical: Any) -> float:
    """Σ_i (b_i − b̄)ᵀ (θ⁺)ᵀ θ⁺ (b_i − b̄): the penalty of equation 50 with λ = 1/M.

    Args:
        coefficients: b_i [clients, d].
        canonical: θ [d, K].

    Returns:
        The penalty, at least 0.

    Source: PPFL, equation 50.
    """
    b, theta = np.asarray(coefficients, dtype=np.float64), np.asarray(canonical, dtype=np.float64)
    return float(np.square((b - b.mean(0)) @ np.linalg.pinv(theta).T).sum())


def canonical_of(covariance: Any, samples: int) -> Floats:
    """Canonical models θ [d, d] for which PPFL's objective is n times less than a mixed model's
    with covariance G.

    Args:
        covariance: G [d, d] of the random effects, positive definite.
        samples: n, training samples of all clients.

    Returns:
        θ with θθᵀ = 2nG. The theorem asks for G = θθᵀ: its objective has Σ (n_i/n) f_i beside
        Σ bᵀG⁻¹b, where the
        negative log-density of the mixed model has Σ n_i f_i beside ½ Σ bᵀG⁻¹b.

    Raises:
        FedkinError: For a matrix that is not positive definite.

    Source: PPFL, Theorem 3 and equation 49.
    """
    try:
        return np.asarray(
            np.linalg.cholesky(2 * samples * np.asarray(covariance, dtype=np.float64))
        )
    except np.linalg.LinAlgError:
        raise FedkinError("canonical_of needs a covariance that is positive definite") from None


def personal_coefficients(
    x: Any, y: Any, owner: Any, canonical: Any, family: str, dispersion: float = 1.0
) -> Floats:
    """b_i = θ c_i of the PPFL of Theorem 3 [clients, d]: W of ones, λ = 1/M, p_i = n_i/n, equation
    12.

    Args:
        x: Features [samples, d], the intercept among them.
        y: Targets [samples].
        owner: The client of each sample [samples], 0, 1, ….
        canonical: θ [d, K], of rank d.
        family: A one-output family: gaussian, bernoulli or poisson.
        dispersion: The variance of a gaussian sample around its mean; f_i is divided by it.

    Returns:
        The minimiser over c_i without the simplex: the theorem leaves equations 5 and 6 out,
        for a mixed model's b_i
        may lie anywhere. With them the b_i stay within the hull of the canonical models.

    Raises:
        FedkinError: For another family, shapes that do not belong together, or θ of a lower rank.

    Source: PPFL, Theorem 3, equations 12 and 50.
    """
    if family not in FAMILIES or family == "categorical":
        raise unknown("family", family, [name for name in FAMILIES if name != "categorical"])
    theta, who = np.asarray(canonical, dtype=np.float64), np.asarray(owner)
    features, target = (torch.from_numpy(np.asarray(v, dtype=np.float64)) for v in (x, y))
    if (
        features.ndim != 2
        or len(theta) != features.shape[1]
        or not len(features) == len(target) == len(who)
    ):
        raise FedkinError(
            "personal_coefficients needs x [samples, d], y and owner [samples], canonical [d, K]"
        )
    if np.linalg.matrix_rank(theta) < len(theta):
        raise FedkinError(
            "personal_coefficients needs canonical models of full rank: as many as features, "
            "or more"
        )
    clients = torch.from_numpy(who.astype(np.int64))
    inverse = torch.from_numpy(np.linalg.pinv(theta))
    shape = (int(who.max()) + 1, features.shape[1])

    def objective(flat: Floats) -> tuple[float, Floats]:
        b = torch.from_numpy(flat).reshape(shape).requires_grad_()
        link = (features * b[clients]).sum(1, keepdim=True)
        apart = (b - b.mean(0)) @ inverse.T
        value = FAMILIES[family].nll(link, target).mean() / dispersion + apart.square().sum()
        (slope,) = torch.autograd.grad(value, b)
        return value.item(), slope.reshape(-1).numpy()

    minimum = minimize(
        objective,
        np.zeros(shape).ravel(),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": 5000, "maxfun": 20000, "ftol": 1e-15, "gtol": 1e-10, "maxcor": 50},
    )
    return np.asarray(minimum.x).reshape(shape)
