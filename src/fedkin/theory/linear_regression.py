"""COMET's theory on linear regression: its Theorem IV.7.

Model: w_k = theta + zeta_k, zeta_k ~ N(0, v_k² I), theta without prior; X_kᵀX_k = beta I, PᵀP = nu
I, noise sigma². Client k knows its least-squares estimate ŵ_k = w_k + N(0, sigma²/beta I) and the
others' predictions P ŵ_i.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from fedkin.core.errors import FedkinError

__all__ = ["alpha_star", "combination", "expected_error", "lambda_star", "minimiser"]

Floats = npt.NDArray[np.float64]


def lambda_star(sigma: float, v: Any, nu: float) -> Floats:
    """λ_k* = sigma² / (v_k² nu) (equation 16), one a client: the more a client differs, the
    less it should listen.

    Args:
        sigma: The noise of the labels, as a standard deviation.
        v: [clients] how far each client lies from the common centre.
        nu: PᵀP = nu I of the public samples.

    Returns:
        λ_k* of each client, [clients], at least 0.

    Raises:
        FedkinError: A number is out of range.
    """
    v = _spread(v)
    if sigma < 0 or nu <= 0 or (v == 0).any():
        raise FedkinError("lambda_star needs sigma >= 0, nu > 0 and every v other than 0")
    return np.asarray(sigma**2 / (v**2 * nu))


def alpha_star(sigma: float, v: Any, beta: float, *, printed: bool = False) -> Floats:
    """α*_{k,i} = B_k / (sigma² + beta v_i²), [clients, clients], row k for client k (eq. 16).

    Reading: B_k = A_k u_k / (u_k + A_k) with u_k = sigma² + beta v_k² and A_k = 1 / sum_{i≠k}
    1/u_i, so B_k = 1 / sum_i 1/u_i: all rows are equal and sum to 1. The paper prints B_k = A_k u_k
    / (sigma² + A_k beta v_k²). There the units do not match, the rows do not sum to 1, and the
    expected error is not minimal; ``printed=True`` gives it.

    Args:
        sigma: The noise of the labels, as a standard deviation.
        v: [clients] how far each client lies from the common centre.
        beta: XᵀX = beta I of each client's samples.
        printed: Whether as the paper prints it.

    Returns:
        Rows that sum to 1, unless ``printed``.

    Raises:
        FedkinError: A number is out of range, or there is one client only.
    """
    v = _spread(v)
    if sigma < 0 or beta <= 0 or len(v) < 2 or (sigma == 0 and (v == 0).any()):
        raise FedkinError(
            "alpha_star needs sigma >= 0, beta > 0 and at least two clients, and every v other "
            "than 0 where sigma is 0"
        )
    u = sigma**2 + beta * v**2
    if not printed:
        return np.asarray(np.tile(1 / u / (1 / u).sum(), (len(u), 1)))
    others = np.where(np.eye(len(u), dtype=bool), 0.0, 1 / u).sum(1)  # a difference would cancel
    a = 1 / others
    b = a * u / (sigma**2 + a * beta * v**2)
    return np.asarray(b[:, None] / u[None, :])


def minimiser(xtx: Floats, ptp: Floats, lam: float, own: Floats, teacher: Floats) -> Floats:
    """w̃ = (XᵀX + λPᵀP)⁻¹ (XᵀX ŵ + λPᵀP Σ_i α_i ŵ_i), eq. 14 as METHODS reads it (two signs are
    lost in the paper).

    xtx, ptp: [d, d]; own: ŵ_k [d]; teacher: Σ_i α_i ŵ_i [d]. It minimises ‖Xw − y‖² + λ‖Pw −
    P·teacher‖².

    Args:
        xtx: XᵀX of the client's samples.
        ptp: PᵀP of the public samples.
        lam: λ, at least 0.
        own: The client's least squares solution.
        teacher: What the others' predictions come from.

    Returns:
        w̃ [d].

    Raises:
        FedkinError: More than one w̃ minimises it.
    """
    try:
        return np.asarray(np.linalg.solve(xtx + lam * ptp, xtx @ own + lam * ptp @ teacher))
    except np.linalg.LinAlgError:
        raise FedkinError(
            "minimiser needs XᵀX + λPᵀP of full rank: give as many samples as features, or more"
        ) from None


def combination(k: int, lam: float, alpha: Floats, beta: float, nu: float) -> Floats:
    """The weights [clients] with which w̃_k mixes all ŵ_i when XᵀX = beta I and PᵀP = nu I
    (equation 49).

    Args:
        k: The number of the client, from 0.
        lam: λ of the pull to the teacher's predictions, at least 0.
        alpha: [clients] the teacher's weights α_k.
        beta: XᵀX = beta I.
        nu: PᵀP = nu I.

    Returns:
        Their sum is 1 where alpha's is.
    """
    pull = lam * nu / (beta + lam * nu)
    return np.asarray(pull * alpha + (1 - pull) * np.eye(len(alpha))[k])


def expected_error(k: int, weights: Floats, sigma: float, v: Any, beta: float) -> float:
    """E‖Σ_i weights_i ŵ_i − w_k‖² per dimension; infinite unless the weights sum to 1, because
    theta has no prior.

    Args:
        k: The client.
        weights: [clients] of all ŵ_i.
        sigma: The noise of the labels, as a standard deviation.
        v: [clients] how far each client lies from the common centre.
        beta: XᵀX = beta I.

    Returns:
        In squared units of w.
    """
    v = _spread(v)
    if abs(weights.sum() - 1) > 1e-9:
        return float("inf")
    own = np.eye(len(v))[k]
    return float((weights**2 * sigma**2 / beta).sum() + ((weights - own) ** 2 * v**2).sum())


def _spread(v: Any) -> Floats:
    return np.asarray(v, dtype=np.float64)
