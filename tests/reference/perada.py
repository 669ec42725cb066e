"""PerAda (Xie et al. 2024, Algorithm 1) with plain loops; SGD for a fixed number of steps at the
server instead of Adam.

Each participant: v ← v − η_p (∇L(v) + λ (v − w^t)) from its own last v; w_k from w^t by local SGD.
Server: w ← (1/|S|) Σ w_k, then steps on KL(σ((1/|S|) Σ logits of w_k) ‖ σ(logits of w)).

Held against NVlabs/PerAda at f776dd4: optim/our.py, aggregation/distillation.py. The page
docs/methods/perada.md names what that code does otherwise.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from tests.reference.ds_fl import Rows, imitate
from tests.reference.local_fedavg import Plan, train
from tests.reference.model import (
    Client,
    Params,
    Snapshot,
    at,
    batch_gradient,
    combine,
    copy,
    logits,
    size,
    softmax,
)


def perada(
    start: Params,
    data: Mapping[int, Client],
    public: np.ndarray,
    plan: Plan,
    personal_plan: Plan,
    public_plan: Sequence[Rows],
    participants: Sequence[Sequence[int]],
    lr: Sequence[float],
    personal_lr: Sequence[float],
    distill_lr: Sequence[float],
    lam: float,
    by_samples: bool = False,
) -> list[Snapshot]:
    """Snapshot: {"server": w, "uploads": {k: w_k}, "personal": {k: v_k}}."""
    w = copy(start)
    personal = {k: copy(start) for k in data}
    history: list[Snapshot] = []
    for t in range(len(plan)):
        uploads: dict[int, Params] = {}
        for k in participants[t]:
            # Our.run_local_updates: train_per towards the received model, then train
            for batch in personal_plan[t][k]:
                v = personal[k]
                slope = batch_gradient(v, data[k], batch)
                personal[k] = {
                    n: v[n] - at(personal_lr, t) * (slope[n] + lam * (v[n] - w[n])) for n in v
                }
            uploads[k] = train(w, data[k], plan[t][k], at(lr, t))
        told = 0.0  # Distillation: out_t, the mean of the clients' logits
        for k in participants[t]:
            told = told + logits(uploads[k], public)
        teacher = softmax(told / len(participants[t]))
        # Our.server_aggregation: FedAveraging with weights=[]
        counts = [size(data[k]) if by_samples else 1 for k in participants[t]]
        shares = [count / sum(counts) for count in counts]
        mean = combine([uploads[k] for k in participants[t]], shares)
        w = imitate(mean, public, teacher, public_plan[t], at(distill_lr, t))
        history.append({"server": copy(w), "uploads": uploads, "personal": dict(personal)})
    return history
