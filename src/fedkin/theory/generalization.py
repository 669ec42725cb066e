"""Two bounds on the error of personal models: CGPFL's Theorem 2 and COMET's equation 62.

A bound is reported term by term: its constants are rarely known, so that its terms say more than
their sum.
"""

import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from fedkin.core.errors import FedkinError

__all__ = [
    "Clustered",
    "Ensemble",
    "clustered_bound",
    "cost",
    "ensemble_bound",
    "variation",
]

Floats = npt.NDArray[np.float64]


class Clustered(NamedTuple):
    """CGPFL's Theorem 2, term by term.

    ``confidence``: 2 √(log(N/δ)/m). ``capacity``: √(dK/m · log(em/d)). ``local``: Σ m_i/m
    (2Bλ_H(D_i) + disc). ``distance``: (λ + L/2) · cost(Θ*, Ω*; K).
    """

    confidence: float
    capacity: float
    local: float
    distance: float

    @property
    def total(self) -> float:
        """The bound: the sum of the four terms."""
        return sum(self)


def clustered_bound(
    theta: Any,
    omega: Any,
    samples: Any,
    *,
    lam: float,
    smoothness: float,
    delta: float = 0.05,
    local: Any = 0.0,
) -> Clustered:
    """The bound of Theorem 2 on Σ (m_i/m) (L_{D_i}(ĥ_i*) − min_h L_{D_i}(h)), with probability 1 −
    δ.

    Args:
        theta: Personal models θ_i* [clients, d].
        omega: Cluster models ω_k* [K, d].
        samples: Training samples m_i [clients].
        lam: λ of the envelope.
        smoothness: L of Assumption 1, seldom known.
        delta: δ, in (0, 1).
        local: 2Bλ_H(D_i) + disc(D_i, D̂_i) of each client [clients], or one
            number; 0 leaves the term out.

    Returns:
        The four terms. Only ``capacity`` and ``distance`` depend on K: the one rises with it, the
        other falls.

    Raises:
        FedkinError: For shapes that do not belong together, or a number outside its range.

    Readings: the formula is garbled in the text at hand; its first term is read as 2 √(log(N/δ)/m),
    from the proof's union over N starts of k-means++. With more parameters than samples the
    logarithm is clamped at 1, as in ``cgpfl_heur``.

    Source: CGPFL, Theorem 2 and equations 26 to 28.
    """
    theta, omega, sizes = (np.asarray(value, dtype=np.float64) for value in (theta, omega, samples))
    if (
        theta.ndim != 2
        or omega.ndim != 2
        or theta.shape[1] != omega.shape[1]
        or sizes.shape != theta.shape[:1]
        or not theta.size
        or not omega.size
    ):
        raise FedkinError(
            "clustered_bound needs theta [clients, d], omega [K, d] and samples [clients]"
        )
    if not (0 < delta < 1 and lam >= 0 and smoothness >= 0 and (sizes > 0).all()):
        raise FedkinError(
            "clustered_bound needs delta in (0, 1), lam and smoothness of at least 0, "
            "samples above 0"
        )
    (clients, parameters), total = theta.shape, float(sizes.sum())
    logarithm = max(math.log(math.e * total / parameters), 1.0)
    return Clustered(
        confidence=2 * math.sqrt(math.log(clients / delta) / total),
        capacity=math.sqrt(parameters * len(omega) / total * logarithm),
        local=float(
            (
                sizes / total * np.broadcast_to(np.asarray(local, dtype=np.float64), sizes.shape)
            ).sum()
        ),
        distance=(lam + smoothness / 2) * cost(theta, omega, sizes),
    )


def cost(theta: Floats, omega: Floats, samples: Floats) -> float:
    """cost(Θ, Ω; K) = Σ m_i/m · min_k ‖θ_i − ω_k‖².

    Args:
        theta: Personal models θ_i [clients, d].
        omega: Cluster models ω_k [K, d].
        samples: Training samples m_i [clients].

    Returns:
        The cost, at least 0.

    Source: CGPFL, Theorem 2.
    """
    # model by model: all differences at once would take K times the memory of the clients' models
    nearest = np.min([np.square(theta - model).sum(1) for model in omega], axis=0)
    return float((samples / samples.sum() * nearest).sum())


class Ensemble(NamedTuple):
    """COMET's equation 62, term by term: ``training``, ``samples``, ``distance``, ``joint``."""

    training: float
    samples: float
    distance: float
    joint: float

    @property
    def total(self) -> float:
        """The bound: the sum of the four terms."""
        return sum(self)


def ensemble_bound(
    alpha: Any,
    losses: Any,
    samples: Any,
    distances: Any,
    joint: Any = 0.0,
    *,
    delta: float = 0.05,
    printed: bool = False,
) -> Ensemble:
    """The bound of equation 62 on L_{D_k}(Σ_i α_{k,i} h_i), with probability 1 − δ, for one client
    k.

    Args:
        alpha: α_{k,i} [clients], at least 0, summing to 1.
        losses: Training losses L̂_i(h_i) [clients], in [0, 1].
        samples: m_i [clients].
        distances: d(D_i, D_k) [clients], see ``variation``.
        joint: ν_i = inf_h L_{D_i}(h) + L_{D_k}(h) [clients], or one number; seldom known.
        delta: δ, in (0, 1).
        printed: The second term with the constants that the paper prints.

    Returns:
        The four terms.

    Raises:
        FedkinError: For shapes that do not belong together, or a number outside its range.

    Readings: equation 61 has √(log(2/δ)/(2 m_k)); that is Lemma C.2 for client i, whose hypothesis
    was trained on m_i samples, so m_i stands here; δ is shared by the clients with α > 0 (union
    bound). ``printed``: √(log(1/δ)) Σ α_i / √m_i, with the constants of the last line, some of
    which are lost on the way; it has √m_k, where m_i is our reading again.

    Source: COMET, appendix C, equations 60 to 62.
    """
    weights = np.asarray(alpha, dtype=np.float64)
    each = [
        np.broadcast_to(np.asarray(v, dtype=np.float64), weights.shape)
        for v in (losses, samples, distances, joint)
    ]
    training, sizes, apart, both = each
    if weights.ndim != 1 or not (weights >= 0).all() or abs(weights.sum() - 1) > 1e-9:
        raise FedkinError(
            "ensemble_bound needs weights alpha [clients] of at least 0 that sum to 1"
        )
    if not (0 < delta < 1 and (sizes > 0).all() and ((training >= 0) & (training <= 1)).all()):
        raise FedkinError(
            "ensemble_bound needs delta in (0, 1), samples above 0 and losses in [0, 1]"
        )
    events = int((weights > 0).sum())
    spread = (
        np.sqrt(math.log(1 / delta) / sizes)
        if printed
        else np.sqrt(math.log(2 * events / delta) / (2 * sizes))
    )
    terms = (training, spread, apart / 2, both)
    return Ensemble(*(float((weights * term).sum()) for term in terms))


def variation(first: Any, second: Any) -> float:
    """Σ |p − q| of two distributions over the same outcomes: the largest that d(D_A, D_B) can be.

    It is twice the total variation, so that ½ d is the most by which the means of a loss in [0, 1]
    differ.

    Args:
        first: Probabilities or counts [outcomes].
        second: The same of the other.

    Returns:
        In 0..2.

    Raises:
        FedkinError: Shapes differ, a number is below 0, or all of one are 0.

    Source: COMET, Lemma C.1 (after Ben-David et al., 2009).
    """
    p, q = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    if p.shape != q.shape or (p < 0).any() or (q < 0).any() or p.sum() <= 0 or q.sum() <= 0:
        raise FedkinError("variation needs two distributions, or counts, over the same outcomes")
    return float(np.abs(p / p.sum() - q / q.sum()).sum())
