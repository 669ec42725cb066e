"""FedALA with plain loops. Zhang et al. 2023, Algorithm 1 and equations 4 and 5:
Θ̂ = Θ_i + (Θ − Θ_i) ⊙ W for the adaptive layers, Θ̂ = Θ for the others; W ← clip(W − η ∇_W L).

Held against TsingZ0/FedALA at 7939ca7 (clientALA.py, serverALA.py) and its ALA.py, as in
TsingZ0/PFLlib at 2b077c1: adaptive_local_aggregation is "ALA" below.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from tests.reference.local_fedavg import Plan, train
from tests.reference.model import (
    Client,
    Params,
    Snapshot,
    at,
    batch_gradient,
    combine,
    copy,
    size,
)


def mixed(own: Params, ours: Params, cells: Params) -> Params:
    found = copy(ours)  # ALA: "preserve all the updates in the lower layers"
    for name, w in cells.items():  # ALA: param + (param_g - param) * weight
        found[name] = own[name] * (1 - w) + ours[name] * w
    return found


def fedala(
    start: Params,
    data: Mapping[int, Client],
    plan: Plan,
    participants: Sequence[Sequence[int]],
    adaptive: Sequence[str],
    lr: Sequence[float],
    cell_plan: Plan,
    cell_lr: float,
) -> list[Snapshot]:
    """``cell_plan[t][k]``: the batches on which client k learns W in round t; it is first used at
    the client's second participation.
    """
    w = copy(start)
    own = {k: copy(start) for k in data}
    # ALA: "initialize the weight to all ones in the beginning"
    cells = {k: {name: np.ones_like(start[name]) for name in adaptive} for k in data}
    rounds = dict.fromkeys(data, 0)
    history: list[Snapshot] = []
    for t in range(len(plan)):
        uploads = {}
        for k in participants[t]:
            begin = w
            if rounds[k]:  # ALA: "deactivate ALA at the 1st communication iteration"
                for batch in cell_plan[t][k]:
                    slope = batch_gradient(mixed(own[k], w, cells[k]), data[k], batch)
                    # ALA: clamp(weight - eta * (param_t.grad * (param_g - param)), 0, 1)
                    for name in adaptive:
                        moved = cells[k][name] - cell_lr * slope[name] * (w[name] - own[k][name])
                        cells[k][name] = np.minimum(1.0, np.maximum(0.0, moved))
                begin = mixed(own[k], w, cells[k])
            rounds[k] += 1
            # clientALA.train: SGD from Θ̂; receive_models: the trained model is what is sent
            own[k] = uploads[k] = train(begin, data[k], plan[t][k], at(lr, t), batch_gradient)
        # serverALA.receive_models and aggregate_parameters: by the participants' training samples
        total = sum(size(data[k]) for k in participants[t])
        w = combine(list(uploads.values()), [size(data[k]) / total for k in uploads])
        history.append(
            {
                "model": copy(w),
                "own": {k: copy(v) for k, v in own.items()},
                "cells": {k: copy(v) for k, v in cells.items()},
                # serverALA: send_models, which mixes at every client, then evaluate. There a client
                # learns W for another pass first; here it is the W of its last round
                "tested": {k: mixed(own[k], w, cells[k]) for k in data},
            }
        )
    return history
