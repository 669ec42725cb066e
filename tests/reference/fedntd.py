"""FedNTD with plain loops. Lee et al. 2022, Algorithm 1: cross-entropy and β Σ_{c≠y} q_g(c)
log(q_g(c) / q_l(c)), softmaxes over the classes but y, of logits over τ.

Held against Lee-Gihun/FedNTD at 043269e: algorithms/fedntd (criterion.py, utils.py,
ClientTrainer.py), BaseClientTrainer.py, BaseServer.py; config/fedntd.json has τ = 1 and β = 1.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from tests.reference.local_fedavg import Plan, train
from tests.reference.model import (
    Batch,
    Client,
    Params,
    Snapshot,
    at,
    backward,
    combine,
    copy,
    cross_entropy_dlogits,
    logits,
    size,
)


def but(row: np.ndarray, y: int) -> dict[int, float]:
    """Softmax over the classes but y."""
    # refine_as_not_true: the logits at all positions but the target's
    left = {c: float(np.exp(z - row.max())) for c, z in enumerate(row) if c != y}
    return {c: value / sum(left.values()) for c, value in left.items()}


def gradient(v: Params, client: Client, batch: Batch, w: Params, beta: float, tau: float) -> Params:
    index, weight = batch
    x, y = client["x"][index], client["y"][index]
    mine, ours = logits(v, x), logits(w, x)
    slope = cross_entropy_dlogits(mine, y, weight)  # NTD_Loss.forward: ce_loss + beta * ntd_loss
    for i in range(len(y)):
        student, teacher = but(mine[i] / tau, int(y[i])), but(ours[i] / tau, int(y[i]))
        # _ntd_loss: KLDivLoss("batchmean") of the global model's softmax, no factor τ²
        for c, q in student.items():
            slope[i, c] += weight[i] * beta / tau * (q - teacher[c])
    return backward(v, x, slope)


def fedntd(
    start: Params,
    data: Mapping[int, Client],
    plan: Plan,
    participants: Sequence[Sequence[int]],
    lr: Sequence[float],
    beta: float,
    tau: float,
) -> list[Snapshot]:
    """{"model": w} after each round."""
    w = copy(start)
    history: list[Snapshot] = []
    for t in range(len(plan)):
        ended = {}
        for k in participants[t]:

            def slope(v: Params, client: Client, batch: Batch, w: Params = w) -> Params:
                return gradient(v, client, batch, w, beta, tau)

            # ClientTrainer.train: the teacher is the received model, kept (_keep_global)
            ended[k] = train(w, data[k], plan[t][k], at(lr, t), slope)
        # BaseServer._aggregation: by the clients' sizes
        total = sum(size(data[k]) for k in ended)
        w = combine(list(ended.values()), [size(data[k]) / total for k in ended])
        history.append({"model": copy(w)})
    return history
