"""FedEM, with plain loops: Marfoq et al. 2021, Algorithm 1 (2 in detail); METHODS.md section 5.

Readings: one E-step a round, on the received components; π is kept at home between rounds; all
components train on the same mini-batches.

Held against the authors' code, omarfoq/FedEM: client.py and learners/learners_ensemble.py at
b80911f, aggregator.py at 98d5deb.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from tests.reference.local_fedavg import Plan
from tests.reference.model import (
    Client,
    Params,
    Snapshot,
    at,
    combine,
    copy,
    cross_entropy_gradient,
    log_softmax,
    logits,
    size,
    softmax,
    step,
)


def sample_loss(model: Params, x: np.ndarray, y: int) -> float:
    """l(h(x), y), one sample."""
    return -float(log_softmax(logits(model, x[None]))[0, int(y)])


def e_step(models: Sequence[Params], pi: np.ndarray, client: Client) -> np.ndarray:
    """q [n, K]: q_k(s) = π_k exp(−l_k(s)) / Σ_j π_j exp(−l_j(s))."""
    q = np.zeros((size(client), len(models)))
    for s in range(size(client)):
        for k, model in enumerate(models):
            q[s, k] = pi[k] * np.exp(-sample_loss(model, client["x"][s], client["y"][s]))
        q[s] = q[s] / q[s].sum()
    return q


def mixture(models: Sequence[Params], pi: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Σ_k π_k softmax(h_k(x)) [rows, classes]."""
    return sum(pi[k] * softmax(logits(model, x)) for k, model in enumerate(models))  # type: ignore[return-value]


def fedem(
    start: Sequence[Params],
    data: Mapping[int, Client],
    plan: Plan,
    participants: Sequence[Sequence[int]],
    lr: float | Sequence[float],
) -> list[Snapshot]:
    """Snapshot: {"server": {"models"}, "uploads": {k: [K models]}, "personal": {k: π_k}}."""
    K = len(start)
    models = [copy(m) for m in start]
    pi = {k: np.full(K, 1.0 / K) for k in data}
    history: list[Snapshot] = []
    for t in range(len(plan)):
        active, uploads = list(participants[t]), {}
        for k in active:
            # Client.step: update_sample_weights, softmax of log π - losses, of all samples at once,
            q = e_step(models, pi[k], data[k])
            pi[k] = q.mean(axis=0)  # then update_learners_weights
            sent = []
            for m in range(K):
                w = copy(models[m])
                for index, weight in plan[t][k]:  # fit_epochs, a learner after the other
                    mine = np.asarray(weight) * q[index, m]
                    w = step(
                        w,
                        cross_entropy_gradient(w, data[k]["x"][index], data[k]["y"][index], mine),
                        at(lr, t),
                    )
                sent.append(w)
            uploads[k] = sent
        # CentralizedAggregator.mix: clients_weights, by samples, of all clients, not of the sampled
        total = sum(size(data[k]) for k in active)
        shares = [size(data[k]) / total for k in active]
        models = [combine([uploads[k][m] for k in active], shares) for m in range(K)]
        history.append(
            {
                "server": {"models": [copy(m) for m in models]},
                "uploads": uploads,
                "personal": {k: v.copy() for k, v in pi.items()},
            }
        )
    return history


def fit(models: Sequence[Params], pi: np.ndarray, client: Client, times: int) -> np.ndarray:
    """π after so many E-steps with fixed components."""
    for _ in range(times):
        pi = e_step(models, pi, client).mean(axis=0)
    return pi
