"""Per-FedAvg with plain loops.

Fallah, Mokhtari, Ozdaglar 2020, Algorithm 1; METHODS.md section 5. The local step is w <- w - beta
(I - alpha H(w; D'')) g(w - alpha g(w; D); D'), where H v is left out ("fo": I alone) or replaced by
[ g(w + delta v; D'') - g(w - delta v; D'') ] / (2 delta) ("hf"). fedkin's deviation: the server
averages by samples.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from tests.reference.local_fedavg import Plan
from tests.reference.model import (
    Batch,
    Client,
    Gradient,
    Params,
    Snapshot,
    at,
    batch_gradient,
    combine,
    copy,
    size,
    step,
)


def meta_gradient(
    w: Params,
    client: Client,
    batches: tuple[Batch, Batch, Batch],
    alpha: float,
    hessian: str,
    delta: float,
    gradient: Gradient = batch_gradient,
) -> Params:
    """The direction of one local step, from the batches D, D', D''."""
    first, second, third = batches
    adapted = step(w, gradient(w, client, first), alpha)
    v = gradient(adapted, client, second)
    if hessian == "fo":
        return v
    plus = gradient({name: w[name] + delta * v[name] for name in w}, client, third)
    minus = gradient({name: w[name] - delta * v[name] for name in w}, client, third)
    product = {name: (plus[name] - minus[name]) / (2.0 * delta) for name in w}
    return {name: v[name] - alpha * product[name] for name in w}


def adapt(w: Params, client: Client, batches: Sequence[Batch], alpha: float) -> Params:
    """The personal model: one step of size alpha per batch."""
    own = copy(w)
    for batch in batches:
        own = step(own, batch_gradient(own, client, batch), alpha)
    return own


def per_fedavg(
    start: Params,
    data: Mapping[int, Client],
    plans: tuple[Plan, Plan, Plan],
    adapt_plan: Plan,
    participants: Sequence[Sequence[int]],
    beta: float | Sequence[float],
    alpha: float,
    hessian: str,
    delta: float,
) -> list[Snapshot]:
    """plans: the mini-batches D, D', D'' of every round, client and step; adapt_plan: those of the
    personal models.

    Snapshot: {"server": {"model"}, "uploads": {k}, "personal": {k: adapted from the new model}}.
    """
    w = copy(start)
    history: list[Snapshot] = []
    for t in range(len(plans[0])):
        uploads: dict[int, Params] = {}
        for k in participants[t]:
            v = copy(w)
            for r in range(len(plans[0][t][k])):
                three = plans[0][t][k][r], plans[1][t][k][r], plans[2][t][k][r]
                v = step(v, meta_gradient(v, data[k], three, alpha, hessian, delta), at(beta, t))
            uploads[k] = v
        total = sum(size(data[k]) for k in participants[t])
        w = combine(
            [uploads[k] for k in participants[t]], [size(data[k]) / total for k in participants[t]]
        )
        personal = {k: adapt(w, data[k], adapt_plan[t][k], alpha) for k in data}
        history.append({"server": {"model": copy(w)}, "uploads": uploads, "personal": personal})
    return history


def exact_meta_gradient(A: np.ndarray, b: np.ndarray, w: np.ndarray, alpha: float) -> np.ndarray:
    """∇ of f(w - alpha ∇f(w)) for f(w) = ½ ||A w - b||²: (I - alpha H) (H w' - Aᵀb), w' = w - alpha
    (H w - Aᵀb).
    """
    H, r = A.T @ A, A.T @ b
    ahead = w - alpha * (H @ w - r)
    return (np.eye(len(w)) - alpha * H) @ (H @ ahead - r)
