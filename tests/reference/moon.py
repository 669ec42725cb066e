"""MOON with plain loops. Li, He & Song 2021, Algorithm 1: ℓ_sup + μ ℓ_con, ℓ_con = −log(e^{a/τ} /
(e^{a/τ} + e^{b/τ})), a the cosine of z with the global model's features, b with those of the
client's last model.

Held against QinbinLi/MOON: main.py at 2f7199e (train_net_fedcon, and "main" for what it ends with),
model.py at 78e2c3b (ModelFedCon_noheader: z is what enters the last layer).
"""

from collections.abc import Mapping, Sequence

import numpy as np

from tests.reference.headed import backward, features, scores
from tests.reference.local_fedavg import Plan
from tests.reference.model import (
    Batch,
    Client,
    Params,
    Snapshot,
    at,
    combine,
    copy,
    cross_entropy_dlogits,
    size,
    step,
)


def cosine(z: np.ndarray, other: np.ndarray) -> tuple[float, np.ndarray]:
    """cos(z, other) and its derivative by z; 0 and 0 where either is 0."""
    a, b = float(np.sqrt(z @ z)), float(np.sqrt(other @ other))
    if a == 0.0 or b == 0.0:
        return 0.0, np.zeros_like(z)
    value = float(z @ other) / (a * b)
    return value, other / (a * b) - value * z / a**2


def gradient(
    w: Params, client: Client, batch: Batch, ours: Params, before: Params, mu: float, tau: float
) -> Params:
    index, weight = batch
    x, y = client["x"][index], client["y"][index]
    h = features(w, x)
    pull = np.zeros_like(h)
    for i, z in enumerate(h):  # train_net_fedcon: posi = cos(pro1, pro2), nega = cos(pro1, pro3)
        near, along = cosine(z, features(ours, x)[i])
        far, away = cosine(z, features(before, x)[i])
        # criterion([posi, nega] / temperature, class 0), times mu, beside criterion(out, target)
        wrong = 1.0 / (1.0 + np.exp((near - far) / tau))  # what the other one counts
        pull[i] = weight[i] * mu * wrong / tau * (away - along)
    return backward(w, x, cross_entropy_dlogits(scores(w, h), y, weight), pull)


def moon(
    start: Params,
    data: Mapping[int, Client],
    plan: Plan,
    participants: Sequence[Sequence[int]],
    lr: Sequence[float],
    mu: float,
    tau: float,
) -> list[Snapshot]:
    """{"model": w, "own": {k: the client's last model}} after each round."""
    w = copy(start)
    own = {k: copy(start) for k in data}
    history: list[Snapshot] = []
    for t in range(len(plan)):
        uploads = {}
        for k in participants[t]:
            v = copy(w)  # main: net.load_state_dict(global_w)
            for batch in plan[t][k]:
                v = step(v, gradient(v, data[k], batch, w, own[k], mu, tau), at(lr, t))
            uploads[k] = v
        own = {**own, **uploads}  # main: old_nets, one model a client (model_buffer_size 1)
        # main: fed_avg_freqs, the samples of the round's participants
        total = sum(size(data[k]) for k in uploads)
        w = combine(list(uploads.values()), [size(data[k]) / total for k in uploads])
        history.append({"model": copy(w), "own": {k: copy(v) for k, v in own.items()}})
    return history
