"""FedALA (Zhang, Hua, Wang, Song, Xue, Ma & Guan, 2023): each client learns, number by number, how
much of the global model it takes. Algorithm 1.
"""

import torch
from torch import Tensor

from fedkin.core.hyperparameters import Count, Layers, Part, Positive, Weights, declared
from fedkin.core.layers import select
from fedkin.core.method import ClientContext, ClientInfo, FederationInit, Method
from fedkin.core.model import Batch, Model
from fedkin.core.ops import gradient, scan, sgd_step
from fedkin.core.tree import Params, Tree, is_buffer
from fedkin.methods.fedavg import fedavg

__all__ = ["fedala"]


@declared
def fedala(
    *,
    lr: float,
    adaptive: Layers = "last",
    share: Part = 0.8,
    weight_lr: Positive = 1.0,
    first_epochs: Count = 10,
    weights: Weights = "samples",
) -> Method:
    """FedALA: before local training Θ̂_i = Θ_i + (Θ − Θ_i) ⊙ [1, W_i], with W_i in [0, 1] learned
    on the client's data while Θ_i and Θ stand still.

    Readings: W_i starts at 1 and is first learned at a client's second participation: at the first
    it has no model of its own, and takes the received one whole. Each pass over W_i sees a part of
    its own. Running statistics are the received ones. The personal view is Θ̂_i of the newest Θ,
    which the authors' code tests; what a client's training leaves it with, Θ_i, is only what is
    mixed in.

    Deviations: the paper first learns W_i until it has converged, here for a number of passes. The
    authors' code draws one part of the data a round and stays with it. There every client mixes in
    every round, also one that does not take part, and keeps the mixture as its model. It learns W_i
    for another pass before it is tested.

    Args:
        lr: Learning rate of local SGD.
        adaptive: The higher layers that have a W_i, by name, as in fedper ("last" is the paper's p
            = 1); the others are the received ones.
        share: s in (0, 1], the part of the training data that a pass over W_i sees.
        weight_lr: η of W_i.
        first_epochs: Passes over W_i when it is first learned; one pass in later rounds.
        weights: "samples" or "uniform": the weights of the server's mean.
    """

    def named(params: Params) -> list[str]:
        found = select(params, adaptive, "adaptive layer")
        return [name for name in params if name in found and not is_buffer(name)]

    def client(initial: Params, info: ClientInfo) -> Tree:
        cells = {name: torch.ones_like(initial[name]) for name in named(initial)}
        return {"parameters": initial, "cells": cells, "rounds": 0}

    def client_update(received: Tree, own: Tree, data: ClientContext) -> tuple[Tree, Tree]:
        mine, ours, cells = own["parameters"], received["parameters"], own["cells"]
        start = ours
        if own["rounds"] and cells:
            batches = data.batches(purpose="cells", epochs=1)
            passes = first_epochs if own["rounds"] == 1 else 1
            steps = max(1, round(share * batches.steps)) * passes
            batches = data.batches(purpose="cells", steps=steps)
            kept = {name: mine[name] for name in cells}
            cells = scan(cell_step, cells, batches, kept, ours, weight_lr)
            start = {**ours, **taken(cells, kept, ours)}
        w = scan(sgd_step, start, data.batches(), lr * data.decay)
        return {"parameters": w, "cells": cells, "rounds": own["rounds"] + 1}, {"parameters": w}

    def personal_models(received: Tree, own: Tree, data: ClientContext) -> dict[str, Params]:
        mine, ours, cells = own["parameters"], received["parameters"], own["cells"]
        return {"personal": {**ours, **taken(cells, mine, ours)}, "global": ours}

    def check(start: FederationInit, participants: int) -> None:
        named(start.only())  # raises where a name does not exist

    return fedavg(lr=lr, weights=weights)._replace(
        name="fedala",
        client=client,
        client_update=client_update,
        personal_models=personal_models,
        check=check,
    )


def taken(cells: Params, mine: Params, ours: Params) -> Params:
    """Θ_i + (Θ − Θ_i) ⊙ W_i, for the numbers that have a W_i."""
    return {name: mine[name] + (ours[name] - mine[name]) * cells[name] for name in cells}


def cell_step(
    model: Model, cells: Params, batch: Batch, mine: Params, ours: Params, rate: Tensor
) -> Params:
    """W ← clip(W − η ∇_W f(Θ̂), 0, 1)."""
    slope = gradient(mixed_loss)(cells, model, batch, mine, ours)
    return {name: (cells[name] - rate * slope[name]).clamp(0, 1) for name in cells}


def mixed_loss(cells: Params, model: Model, batch: Batch, mine: Params, ours: Params) -> Tensor:
    """f(Θ̂) as a function of W."""
    return model.loss({**ours, **taken(cells, mine, ours)}, batch)
