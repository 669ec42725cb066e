"""PPFL's criterion of convergence (equation 26), and the iterate that its Theorem 1 is about
(equation 16).
"""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from fedkin.core.errors import FedkinError
from fedkin.core.rng import Key

__all__ = [
    "Stationarity",
    "iterate_weights",
    "mirror_step",
    "sampled_round",
    "stationarity",
]

Floats = npt.NDArray[np.float64]


class Stationarity(NamedTuple):
    """‖∇_θ F‖ and ‖(C − C₊)/η‖₁; both are 0 at a stationary point."""

    theta: float
    memberships: float

    @property
    def squared(self) -> float:
        """‖G‖² = ‖∇_θ F‖² + ‖(C − C₊)/η‖₁², which Theorems 1 and 2 bound."""
        return self.theta**2 + self.memberships**2


def stationarity(
    slope: Any, memberships: Any, slopes: Any, laplacian: Any, *, lam: float, step: float
) -> Stationarity:
    """How far a point {θ, C} of PPFL is from a stationary one.

    Args:
        slope: ∇_θ F(θ, C), any shape.
        memberships: C [clients, K], rows on the simplex.
        slopes: p_i ∇_c f_i(c_i; θ) over all training data [clients, K].
        laplacian: L [clients, clients].
        lam: λ of the Laplacian.
        step: η of the mirror step.

    Returns:
        The ℓ₂ norm of ∇_θ F, and the ℓ₁ norm of the mirror step's move over η; both 0 at a
        stationary point.

    Raises:
        FedkinError: For shapes that do not belong together, or memberships outside the simplex.

    Source: PPFL, equations 24 to 26; the ℓ₁ norm is over all of C.
    """
    c, each, graph = (
        np.asarray(value, dtype=np.float64) for value in (memberships, slopes, laplacian)
    )
    if c.ndim != 2 or each.shape != c.shape or graph.shape != (len(c), len(c)):
        raise FedkinError(
            "stationarity needs memberships and slopes [clients, K], and laplacian [clients, "
            "clients]"
        )
    on_simplex = (c >= 0).all() and (np.abs(c.sum(1) - 1) <= 1e-5).all()
    if not (on_simplex and lam >= 0 and step > 0):
        raise FedkinError(
            "stationarity needs rows of memberships on the simplex, lam of at least 0 and step > 0"
        )
    moved = mirror_step(c, each + 2 * lam * graph @ c, step)
    return Stationarity(
        float(np.linalg.norm(np.asarray(slope))), float(np.abs(c - moved).sum() / step)
    )


def mirror_step(c: Floats, slopes: Floats, step: float) -> Floats:
    """C₊ = c ∘ exp(−ηG) / ⟨c, exp(−ηG)⟩, row by row, without a floor.

    Args:
        c: Memberships [clients, K], rows on the simplex.
        slopes: G, the gradient [clients, K].
        step: η of the mirror step, above 0.

    Returns:
        C₊ [clients, K], rows on the simplex.

    Source: PPFL, equation 24.
    """
    exponents = np.where(c > 0, -step * slopes, -np.inf)  # who has no weight gets none
    weights = c * np.exp(exponents - exponents.max(1, keepdims=True))
    return np.asarray(weights / weights.sum(1, keepdims=True))


def iterate_weights(steps: Any, *, theta_share: float, smoothness: tuple[float, float]) -> Floats:
    """P(t' = t) of Algorithm 1's output, for each round t [rounds].

    Args:
        steps: η_t of each round [rounds]; the local step is η_t / E.
        theta_share: ρ_1, the probability of the block θ; ρ_2 = 1 − ρ_1.
        smoothness: L_1 (in θ) and L_2 (in C) of Assumption 1.

    Returns:
        Probabilities ∝ η_t min_h ρ_h (1 − γ_{h,t} L_h), with γ_1 = 4η_t and γ_2 = η_t/2;
        uniform for a constant step.

    Raises:
        FedkinError: Where a weight is not positive: η_t has to be below 1/(4 L_1) and 2/L_2.

    Source: PPFL, equation 16 (Theorem 1 asks for η_t ≤ 1/(32 E L_1), 2/L_2).
    """
    eta = np.asarray(steps, dtype=np.float64)
    if (
        eta.ndim != 1
        or not len(eta)
        or not (eta > 0).all()
        or not 0 < theta_share < 1
        or not all(each > 0 for each in smoothness)
    ):
        raise FedkinError(
            "iterate_weights needs steps > 0 [rounds], theta_share in (0, 1) and smoothness > 0"
        )
    blocks = (
        theta_share * (1 - 4 * eta * smoothness[0]),
        (1 - theta_share) * (1 - eta / 2 * smoothness[1]),
    )
    weights = eta * np.minimum(*blocks)
    if (weights <= 0).any():
        most = min(1 / (4 * smoothness[0]), 2 / smoothness[1])
        raise FedkinError(
            f"iterate_weights: a step of {eta.max():g} is too large, it must be below {most:g}"
        )
    return np.asarray(weights / weights.sum())


def sampled_round(
    steps: Any, seed: int, *, theta_share: float, smoothness: tuple[float, float]
) -> int:
    """The round t' in 1…T whose iterate is Algorithm 1's output, drawn from (seed, "ppfl output").

    A run's first rounds do not depend on how many follow: the iterate is what a run of t' rounds
    ends with.

    Args:
        steps: η_t of each round [rounds].
        seed: Of the draw.
        theta_share: ρ_1, the probability of the block θ.
        smoothness: L_1 (in θ) and L_2 (in C) of Assumption 1.

    Returns:
        t', from 1 on.

    Source: PPFL, Algorithm 1, last line, and equation 16.
    """
    weights = iterate_weights(steps, theta_share=theta_share, smoothness=smoothness)
    return 1 + int(Key(seed).numpy("ppfl output").choice(len(weights), p=weights))
