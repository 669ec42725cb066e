"""Ditto, with plain loops: Li et al. 2021, Algorithm 2 (FedAvg as the global solver, means by
samples).

Held against the authors' code, litian96/ditto at 00c1837: Server.train of
flearn/trainers_MTL/ditto.py. w^t in the personal step is the model the server sent at the start of
the round. With ``received`` v goes on from it, too, which is no part of the paper.
"""

from collections.abc import Mapping, Sequence

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
    size,
    step,
)


def ditto(
    start: Params,
    data: Mapping[int, Client],
    plan: Plan,
    personal_plan: Plan,
    participants: Sequence[Sequence[int]],
    lr: float | Sequence[float],
    personal_lr: float | Sequence[float],
    lam: float,
    gradient: Gradient = batch_gradient,
    received: bool = False,
) -> list[Snapshot]:
    """Snapshot: {"server": {"model": w}, "uploads": {k: w_k of the participants}, "personal": {k:
    v_k}}.
    """
    w = copy(start)
    personal = {k: copy(start) for k in data}
    history: list[Snapshot] = []
    for t in range(len(plan)):
        uploads: dict[int, Params] = {}
        for k in participants[t]:
            local = copy(w)  # w_global_idx, a copy of global_model
            for batch in plan[t][k]:
                # "global": SGD, on the mini-batch that the personal step has just seen
                local = step(local, gradient(local, data[k], batch), at(lr, t))
            uploads[k] = local
            if received:
                personal[k] = copy(w)
            for batch in personal_plan[t][k]:
                v = personal[k]
                slope = gradient(v, data[k], batch)  # "local": eff_grad, λ (v - global_model)
                personal[k] = {
                    n: v[n] - at(personal_lr, t) * (slope[n] + lam * (v[n] - w[n])) for n in v
                }
        # aggregate: simple_average of the differences, uniform; by samples is the paper's FedAvg
        total = sum(size(data[k]) for k in participants[t])
        w = combine(
            [uploads[k] for k in participants[t]], [size(data[k]) / total for k in participants[t]]
        )
        history.append(
            {"server": {"model": copy(w)}, "uploads": uploads, "personal": dict(personal)}
        )
    return history
