"""FedAMP with plain loops. Huang et al. 2021, Algorithm 1 and equation 6: u_i = (1 − α Σ_{j≠i}
A'(‖w_i − w_j‖²)) w_i + α Σ_{j≠i} A'(‖w_i − w_j‖²) w_j, A(x) = 1 − e^{−x/σ}; then client i moves by
∇F_i(w) + λ/α (w − u_i), from w_i on.

Held against TsingZ0/PFLlib at 487a29e: serveramp.py, clientamp.py. The page docs/methods/fedamp.md
names what that code does otherwise.
"""

from collections.abc import Mapping, Sequence
from math import exp

import numpy as np

from tests.reference.local_fedavg import Plan
from tests.reference.model import Client, Params, Snapshot, at, batch_gradient, copy


def message(
    w: Mapping[int, Params], i: int, known: Sequence[int], alpha: float, sigma: float
) -> Params:
    """u_i; only models of clients that have trained count beside the client's own."""
    own, u = 1.0, {name: np.zeros_like(value) for name, value in w[i].items()}
    for j in known:
        if j == i:
            continue
        apart = sum(float(np.sum((w[i][name] - w[j][name]) ** 2)) for name in u)
        # FedAMP.send_models: alphaK * e(sub), sub the squared distance, e(x) = exp(−x/σ)/σ
        share = alpha * exp(-apart / sigma) / sigma
        own -= share
        for name in u:
            u[name] = u[name] + share * w[j][name]  # and coef_self = 1 − the sum of the others
    return {name: u[name] + own * w[i][name] for name in u}


def fedamp(
    start: Params,
    data: Mapping[int, Client],
    plan: Plan,
    participants: Sequence[Sequence[int]],
    lr: Sequence[float],
    lam: float,
    alpha: float,
    sigma: float,
) -> list[Snapshot]:
    """{"down": {k: u_k of the participants}, "own": {k: w_k}} after each round."""
    w = {k: copy(start) for k in data}
    known: list[int] = []
    history: list[Snapshot] = []
    for t in range(len(plan)):
        down = {k: message(w, k, known, alpha, sigma) for k in participants[t]}
        for k in participants[t]:
            # clientAMP.train: loss + 0.5 * lamda / alphaK * the distance to u, from the own model
            for batch in plan[t][k]:
                slope = batch_gradient(w[k], data[k], batch)
                w[k] = {
                    name: v - at(lr, t) * (slope[name] + lam / alpha * (v - down[k][name]))
                    for name, v in w[k].items()
                }
        known = sorted({*known, *participants[t]})
        history.append({"down": down, "own": {k: copy(v) for k, v in w.items()}})
    return history
