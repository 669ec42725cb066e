"""FedDF (Lin et al. 2020, Algorithms 1 and 3) with plain loops; SGD for a fixed number of steps
instead of Adam.

Held against the authors' code, epfml/federated-learning-public-code at 2ec0157:
pcode/aggregation/noise_knowledge_transfer.py and fedavg.py.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from tests.reference.ds_fl import Rows, imitate
from tests.reference.local_fedavg import Plan, train
from tests.reference.model import Client, Params, Snapshot, at, combine, copy, logits, size, softmax


def feddf(
    start: Mapping[str, Params],
    prototype: Mapping[int, str],
    data: Mapping[int, Client],
    public: np.ndarray,
    plan: Plan,
    public_plan: Sequence[Mapping[str, Rows]],
    participants: Sequence[Sequence[int]],
    lr: float | Sequence[float],
    distill_lr: float | Sequence[float],
) -> list[Snapshot]:
    """start: of each prototype (architecture). public_plan[t][p]: rows of each distillation step of
    prototype p.

    Snapshot: {"down": {k: params}, "uploads": {k: params}, "server": {p: params}}.
    """
    models = {name: copy(params) for name, params in start.items()}
    history: list[Snapshot] = []
    for t in range(len(plan)):
        down = {k: copy(models[prototype[k]]) for k in participants[t]}
        uploads = {k: train(down[k], data[k], plan[t][k], at(lr, t)) for k in participants[t]}
        # AVGLOGITS: sigma( 1/|S_t| sum over ALL uploaded models of their logits ), whatever their
        # prototype. update_student, "avg_logits": teacher_avg_logits, weights 1 / teachers
        total = 0.0
        for k in participants[t]:
            total = total + logits(uploads[k], public)
        teacher = softmax(total / len(participants[t]))
        for name in models:
            members = [k for k in participants[t] if prototype[k] == name]
            if members:  # else it starts from its last model; _fedavg: the uniform mean
                n = sum(size(data[k]) for k in members)
                models[name] = combine(
                    [uploads[k] for k in members], [size(data[k]) / n for k in members]
                )
            # distillation, of every arch's mean (use_fedavg_as_start); clip_grad_norm_ 5
            models[name] = imitate(
                models[name], public, teacher, public_plan[t][name], at(distill_lr, t)
            )
        history.append(
            {
                "down": down,
                "uploads": uploads,
                "server": {name: copy(w) for name, w in models.items()},
            }
        )
    return history
