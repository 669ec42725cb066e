"""FedDyn (Acar, Zhao, Matas, Mattina, Whatmough & Saligrama, 2021): each client's loss is corrected
by what it knows of its own gradient, so that local optima and the global one agree. Algorithm 1.
"""

from functools import partial

import torch
from torch import Tensor

from fedkin.core.aggregation import Mean, WeightedSum, Weights
from fedkin.core.hyperparameters import Positive, declared
from fedkin.core.method import (
    ClientContext,
    ClientInfo,
    FederationInit,
    Method,
    Needs,
    ServerContext,
)
from fedkin.core.model import Batch, Model
from fedkin.core.ops import descend, gradient, scan
from fedkin.core.tree import Params, Tree, sq_dist, zeros
from fedkin.methods.fedavg import fedavg
from fedkin.methods.parts.checks.everyone_weighted import check_everyone_weighted

__all__ = ["feddyn"]


@declared
def feddyn(*, lr: float, alpha: Positive = 0.01, weights: Weights = "uniform") -> Method:
    """FedDyn: client k descends f_k(v) − ⟨g_k, v⟩ + (α/2) ‖v − w‖², then g_k ← g_k − α (v − w); the
    server takes w ← mean of v − h/α, where h ← h − α (|P|/m) (mean of v − w).

    Readings: SGD as [train] says stands for the argmin, and begins at w. g_k and h begin at 0, and
    h is the mean of all g_k by ``weights``, which a [server] optimizer or a robust rule would undo:
    they are refused. m is the number of all clients, |P| of those that answered.
    Running statistics have no gradient: they are averaged.

    Deviations: the authors' code divides α at each client by its samples over the mean of all
    clients', and clips gradients at the norm 10. It tells the mean of v without h/α, too.

    Args:
        lr: Learning rate of local SGD.
        alpha: α; the paper chooses among 0.1, 0.01 and 0.001, and lr times alpha should stay below
            1.
        weights: "uniform", as in the paper, or "samples": the weights of the mean of v. "samples"
            needs every client in every round.
    """

    def server(start: FederationInit) -> Tree:
        w = start.only()
        return {"parameters": w, "slope": zeros(w), "clients": len(start.clients)}

    def client(initial: Params, info: ClientInfo) -> Tree:
        return {"slope": zeros(initial)}

    def client_update(received: Tree, own: Tree, data: ClientContext) -> tuple[Tree, Tree]:
        w, g = received["parameters"], own["slope"]
        v = scan(corrected_step, w, data.batches(), w, g, alpha, lr * data.decay)
        moved = {name: g[name] - alpha * (v[name] - w[name]) for name in g}
        return {"slope": moved}, {"parameters": v}

    def server_update(state: Tree, sent: Mean, server: ServerContext) -> Tree:
        w, mean, h = state["parameters"], sent.mean["parameters"], state["slope"]
        share = alpha * sent.participants / state["clients"]
        h = {name: h[name] - share * (mean[name] - w[name]) for name in h}
        corrected = {name: mean[name] - h[name] / alpha for name in h}
        return {**state, "parameters": {**mean, **corrected}, "slope": h}

    return fedavg(lr=lr)._replace(
        name="feddyn",
        server=server,
        client=client,
        broadcast=lambda state, client: {"parameters": state["parameters"]},
        client_update=client_update,
        aggregation=WeightedSum(weights),
        server_update=server_update,
        check=partial(check_everyone_weighted, "feddyn", weights),
        needs=Needs(plain_mean=True),
    )


def objective(v: Params, model: Model, batch: Batch, w: Params, g: Params, alpha: Tensor) -> Tensor:
    """f(v) − ⟨g, v⟩ + (α/2) ‖v − w‖² on a mini-batch."""
    along = torch.stack([(known * v[name]).sum() for name, known in g.items()]).sum()
    return model.loss(v, batch) - along + alpha / 2 * sq_dist(v, w)


def corrected_step(
    model: Model, v: Params, batch: Batch, w: Params, g: Params, alpha: Tensor, lr: Tensor
) -> Params:
    """v ← v − lr (∇f(v) − g + α (v − w))."""
    return descend(v, gradient(objective)(v, model, batch, w, g, alpha), lr)
