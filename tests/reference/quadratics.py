"""Closed forms for clients with f_i(w) = ½ ||A_i w - b_i||², beside which the loops can be put.

As a client of the references: {"x": A, "y": b}, parameters {"w": [d]}, gradient
`quadratic_gradient` (batches are ignored). H_i = A_iᵀA_i, and w_i* the minimiser of f_i where H_i
is invertible.
"""

from collections.abc import Sequence

import numpy as np

from tests.reference.model import Batch, Client, Params

Quadratic = tuple[np.ndarray, np.ndarray]


def value(A: np.ndarray, b: np.ndarray, w: np.ndarray) -> float:
    return 0.5 * float(np.sum((A @ w - b) ** 2))


def gradient(A: np.ndarray, b: np.ndarray, w: np.ndarray) -> np.ndarray:
    return A.T @ (A @ w - b)


def quadratic_gradient(params: Params, client: Client, batch: Batch) -> Params:
    """`gradient` argument for the references: the exact gradient, whatever the batch."""
    return {"w": gradient(client["x"], client["y"], params["w"])}


def minimiser(A: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.linalg.solve(A.T @ A, A.T @ b)


def affine_power(H: np.ndarray, r: np.ndarray, w: np.ndarray, lr: float, steps: int) -> np.ndarray:
    """w after `steps` of w <- w - lr (H w - r), H symmetric ≥ 0, by eigenvectors: q <- (1 - lr λ)^n
    q + (1 - (1 - lr λ)^n)/λ ρ.
    """
    eigenvalues, Q = np.linalg.eigh(H)
    q, rho = Q.T @ w, Q.T @ r
    out = np.zeros_like(q)
    for j, eigenvalue in enumerate(eigenvalues):
        decay = (1.0 - lr * eigenvalue) ** steps
        gain = lr * steps if abs(eigenvalue) < 1e-12 else (1.0 - decay) / eigenvalue
        out[j] = decay * q[j] + gain * rho[j]
    return Q @ out


def gradient_steps(
    A: np.ndarray, b: np.ndarray, w: np.ndarray, lr: float, steps: int
) -> np.ndarray:
    """Local training: w* + (I - lr H)^steps (w - w*), also for a singular H."""
    return affine_power(A.T @ A, A.T @ b, w, lr, steps)


def prox_point(A: np.ndarray, b: np.ndarray, omega: np.ndarray, lam: float) -> np.ndarray:
    """θ*(ω) = argmin f(θ) + (λ/2) ||θ - ω||² = (AᵀA + λI)⁻¹ (Aᵀb + λω)."""
    return np.linalg.solve(A.T @ A + lam * np.eye(len(omega)), A.T @ b + lam * omega)


def prox_steps(
    A: np.ndarray,
    b: np.ndarray,
    theta: np.ndarray,
    omega: np.ndarray,
    lam: float,
    lr: float,
    steps: int,
) -> np.ndarray:
    """θ after `steps` of θ <- θ - lr (∇f(θ) + λ(θ - ω)): θ* + (I - lr (H + λI))^steps (θ - θ*)."""
    return affine_power(A.T @ A + lam * np.eye(len(omega)), A.T @ b + lam * omega, theta, lr, steps)


def moreau_gradient(A: np.ndarray, b: np.ndarray, omega: np.ndarray, lam: float) -> np.ndarray:
    """∇ of the envelope: λ (ω - θ*(ω)) = λ (H + λI)⁻¹ (H ω - Aᵀb)."""
    return lam * (omega - prox_point(A, b, omega, lam))


def envelope_matrices(A: np.ndarray, b: np.ndarray, lam: float) -> tuple[np.ndarray, np.ndarray]:
    """(G, r) with ∇ envelope = G ω - r."""
    inverse = np.linalg.inv(A.T @ A + lam * np.eye(A.shape[1]))
    return lam * inverse @ A.T @ A, lam * inverse @ A.T @ b


def moreau_steps(
    A: np.ndarray, b: np.ndarray, omega: np.ndarray, lam: float, beta: float, rounds: int
) -> np.ndarray:
    """ω_{i,R} of a client whose θ is the exact prox point in every r: R gradient steps of size β on
    the envelope.
    """
    G, r = envelope_matrices(A, b, lam)
    return affine_power(G, r, omega, beta, rounds)


def moreau_fixed_point(members: Sequence[Quadratic], lam: float) -> np.ndarray:
    """Minimiser of the uniform mean of the envelopes of a cluster (pFedMe: of all clients): the
    fixed point with R = 1, exact θ.
    """
    pairs = [envelope_matrices(A, b, lam) for A, b in members]
    return np.linalg.solve(sum(G for G, _ in pairs), sum(r for _, r in pairs))  # type: ignore[arg-type]


def moreau_fixed_point_rounds(
    members: Sequence[Quadratic], lam: float, beta: float, rounds: int
) -> np.ndarray:
    """Fixed point of ω <- mean over members of ω_{i,R}, exact θ: each client's map is affine, M_i ω
    + m_i.
    """
    d = members[0][0].shape[1]
    M, m = np.zeros((d, d)), np.zeros(d)
    for A, b in members:
        constant = moreau_steps(A, b, np.zeros(d), lam, beta, rounds)
        columns = np.array(
            [moreau_steps(A, b, e, lam, beta, rounds) - constant for e in np.eye(d)]
        ).T
        M, m = M + columns / len(members), m + constant / len(members)
    return np.linalg.solve(np.eye(d) - M, m)


def weighted_minimiser(clients: Sequence[Quadratic], weights: Sequence[float]) -> np.ndarray:
    """argmin Σ p_i f_i: FedAvg's fixed point with ONE local step, any step size small enough to
    converge.
    """
    H = sum(p * A.T @ A for p, (A, _) in zip(weights, clients, strict=True))
    r = sum(p * A.T @ b for p, (A, b) in zip(weights, clients, strict=True))
    return np.linalg.solve(H, r)  # type: ignore[arg-type]


def fedavg_fixed_point(
    clients: Sequence[Quadratic], weights: Sequence[float], lr: float, steps: int
) -> np.ndarray:
    """Fixed point of w <- Σ p_i (M_i w + m_i), M_i = (I - lr H_i)^steps: not the minimiser of Σ p_i
    f_i unless steps = 1.
    """
    d = clients[0][0].shape[1]
    M, m = np.zeros((d, d)), np.zeros(d)
    for p, (A, b) in zip(weights, clients, strict=True):
        M = M + p * np.linalg.matrix_power(np.eye(d) - lr * A.T @ A, steps)
        m = m + p * gradient_steps(A, b, np.zeros(d), lr, steps)
    return np.linalg.solve(np.eye(d) - M, m)


def ppfl_c_gradient(A: np.ndarray, b: np.ndarray, Theta: np.ndarray, c: np.ndarray) -> np.ndarray:
    """∇_c f(Θ c) = Θᵀ Aᵀ (A Θ c - b), the canonical models in the columns of Theta [d, K]."""
    return Theta.T @ A.T @ (A @ Theta @ c - b)


def ppfl_mirror_step(
    A: np.ndarray,
    b: np.ndarray,
    Theta: np.ndarray,
    c: np.ndarray,
    lr: float,
    scale: float = 1.0,
    pull: np.ndarray | float = 0.0,
) -> np.ndarray:
    """Minimiser over the simplex of <g, c'> + KL(c' ‖ c) / lr, g = scale * ∇_c f + pull (pull = 2λ
    (LC)_i); no floor.
    """
    unnormalised = c * np.exp(-lr * (scale * ppfl_c_gradient(A, b, Theta, c) + pull))
    return unnormalised / unnormalised.sum()


def ppfl_theta_step(
    A: np.ndarray, b: np.ndarray, Theta: np.ndarray, c: np.ndarray, lr: float
) -> np.ndarray:
    """One gradient step on Theta with c fixed: ∇_Θ f(Θ c) = Aᵀ (A Θ c - b) cᵀ."""
    return Theta - lr * np.outer(A.T @ (A @ Theta @ c - b), c)
