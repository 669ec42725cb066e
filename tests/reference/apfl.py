"""APFL, with plain loops: Deng, Kamani & Mahdavi 2020, Algorithm 1 and the rule for α_i, means by
samples.

The paper was not at hand; its lines are as an independent implementation runs them, too
(tests/golden). The steps were held against the authors' code, MLOPTPSU/FedTorch at 1edcfbf
(trainings/federated/apfl.py and alpha_update of comms/utils/flow_utils.py) and at 14f4999
(comms/utils/eval.py), too. Algorithm 1, a local step t: w_i(t) = w_i(t-1) - η ∇f_i(w_i(t-1));
v_i(t) = v_i(t-1) - η ∇_v f_i(v̄_i(t-1)); v̄_i(t) = α_i v_i(t) + (1 - α_i) w_i(t). At a
synchronisation w_i becomes the average; v̄_i is not formed anew ("kept"). The rule for α_i: α_i <-
α_i - η <v_i - w_i, ∇f_i(v̄_i)>.

Readings: α_i moves once a round, at the round's first mini-batch, with v_i and the model just
received. "received": v̄_i is formed anew with the average of the round.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from tests.reference.local_fedavg import Plan
from tests.reference.model import (
    Client,
    Gradient,
    Params,
    Snapshot,
    at,
    batch_gradient,
    combine,
    copy,
    dot,
    size,
)


def mixed(v: Params, w: Params, alpha: float) -> Params:
    return {name: alpha * v[name] + (1.0 - alpha) * w[name] for name in v}


def apfl(
    start: Params,
    data: Mapping[int, Client],
    plan: Plan,
    participants: Sequence[Sequence[int]],
    lr: float | Sequence[float],
    alpha: float,
    adaptive: bool = True,
    gradient: Gradient = batch_gradient,
    mixture: str = "kept",
) -> list[Snapshot]:
    """Snapshot: {"server": {"model": w}, "uploads": {k: w_k}, "local": {k: v_k}, "alpha": {k: α_k},
    "personal": {k: v̄_k}}."""
    w = copy(start)
    own = {k: copy(start) for k in data}
    bars = {k: copy(start) for k in data}
    alphas = dict.fromkeys(data, alpha)
    history: list[Snapshot] = []
    for t in range(len(plan)):
        uploads: dict[int, Params] = {}
        for k in participants[t]:
            u, eta = copy(w), at(lr, t)  # apfl.py: model takes model_server's state; v stays
            for number, batch in enumerate(plan[t][k]):
                v = own[k]
                if mixture == "received":
                    bars[k] = mixed(v, u, alphas[k])
                if adaptive and number == 0:  # apfl.py: i == 0 and ep == 0, after the step
                    slope = gradient(bars[k], data[k], batch)
                    difference = {name: v[name] - u[name] for name in v}
                    # alpha_update: clipped to [0, 1], with 0.02 α more in the slope
                    alphas[k] = float(np.clip(alphas[k] - eta * dot(difference, slope), 0.0, 1.0))
                if mixture == "received":
                    bars[k] = mixed(v, u, alphas[k])
                # inference_personal mixes the two models' outputs, not their parameters
                of_mixture = gradient(bars[k], data[k], batch)
                of_global = gradient(u, data[k], batch)
                own[k] = {name: v[name] - eta * alphas[k] * of_mixture[name] for name in v}
                u = {name: u[name] - eta * of_global[name] for name in u}
                bars[k] = mixed(own[k], u, alphas[k])
            uploads[k] = u
        total = sum(size(data[k]) for k in participants[t])
        w = combine(
            [uploads[k] for k in participants[t]], [size(data[k]) / total for k in participants[t]]
        )
        history.append(
            {
                "server": {"model": copy(w)},
                "uploads": uploads,
                "local": dict(own),
                "alpha": dict(alphas),
                "personal": {
                    k: copy(bars[k]) if mixture == "kept" else mixed(own[k], w, alphas[k])
                    for k in data
                },
            }
        )
    return history
