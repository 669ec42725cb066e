"""FedAvg (McMahan et al., 2017): w ← Σ p_i w_i over the participants."""

from collections.abc import Mapping

from torch import Tensor

from fedkin.core.method import Data, Method, Reply, Server
from fedkin.core.model import Batch, Model
from fedkin.core.ops import descend, gradient, scan
from fedkin.core.tree import Params, Tree, weighted_mean
from fedkin.core.weights import Weights, counted


def sgd_step(model: Model, w: Params, batch: Batch, lr: Tensor) -> Params:
    """w ← w − lr ∇f(w; batch)."""
    return descend(w, gradient(model.loss)(w, batch), lr)


def merge(state: Tree, replies: Mapping[int, Reply], server: Server) -> Tree:
    """w ← Σ n_i w_i / Σ n_i over the replies that arrived."""
    mean = weighted_mean((r.message["parameters"] for r in replies.values()), (r.weight for r in replies.values()))
    return {"parameters": mean}


def fedavg(*, lr: float, weights: Weights = "samples") -> Method:
    """FedAvg: every participant trains the global model on its data, the server averages.

    lr: learning rate of local SGD (no momentum). Batches and steps come from [train].
    weights: of the mean, by "samples", as in the paper, or "uniform".

    Readings: batch-norm statistics are averaged like parameters; the last, partial batch of an epoch is trained on, by
    the mean over the samples that it has.
    """

    def local(down: Tree, own: Tree, data: Data) -> tuple[Tree, Tree]:
        w = scan(sgd_step, down["parameters"], data.batches(), lr * data.decay)
        return own, {"parameters": w}

    def personal(down: Tree, own: Tree, data: Data) -> dict[str, Params]:
        return {"personal": down["parameters"], "global": down["parameters"]}

    method = Method(
        name="fedavg",
        server=lambda start: {"parameters": start.only()},
        client=lambda initial, info: {},
        down=lambda state, client: state,
        local=local,
        expects=lambda down, info: down,
        merge=merge,
        personal=personal,
        hyper={"lr": lr},
    )
    return counted(method, weights)
