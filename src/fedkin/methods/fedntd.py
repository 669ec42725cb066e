"""FedNTD (Lee, Jeong, Shin, Bae & Yun, 2022): FedAvg whose clients do not forget what the global
model says of the classes that a sample is not of. Algorithm 1.
"""

import torch
from torch import Tensor

from fedkin.core.hyperparameters import NotNegative, Positive, Weights, declared
from fedkin.core.method import ClientContext, Method, Needs, likelihood
from fedkin.core.model import Batch, Model
from fedkin.core.ops import descend, gradient, scan
from fedkin.core.tree import Params, Tree
from fedkin.methods.fedavg import fedavg

__all__ = ["fedntd"]

OUT = -1e9  # the logit of the true class: it counts nothing, and its logarithm is finite


@declared
def fedntd(
    *, lr: float, beta: NotNegative = 0.1, temperature: Positive = 1.0, weights: Weights = "samples"
) -> Method:
    """FedNTD: local steps descend L_CE + β L_NTD, L_NTD the KL of the global model's softmax over
    the classes that are not the sample's, beside the local one's.

    Readings: the teacher is the received model in evaluation mode. L_NTD is not multiplied by τ²,
    as printed. With two classes one is left, and nothing is distilled.

    Args:
        lr: Learning rate of local SGD.
        beta: β, the weight of L_NTD; 0 is FedAvg. 1 in the paper, and 0.1 validated best on the
            leaderboard's federations.
        temperature: τ of both softmaxes; 1 in the paper.
        weights: "samples" or "uniform": the weights of the server's mean.
    """

    def client_update(received: Tree, own: Tree, data: ClientContext) -> tuple[Tree, Tree]:
        w = received["parameters"]
        rates = beta, temperature, lr * data.decay
        return own, {"parameters": scan(not_true_step, w, data.batches(), w, *rates)}

    return fedavg(lr=lr, weights=weights)._replace(
        name="fedntd",
        client_update=client_update,
        needs=Needs(classes=True),
    )


def objective(
    v: Params, model: Model, batch: Batch, w: Params, beta: Tensor, temperature: Tensor
) -> Tensor:
    """L_CE + β L_NTD on a mini-batch."""
    found = model.train_outputs(v, batch.x)
    mine = not_true(likelihood(model, found) / temperature, batch.y)
    ours = not_true(likelihood(model, model.outputs(w, batch.x)) / temperature, batch.y)
    apart = (ours.exp() * (ours - mine)).sum(1)
    rows = model.family.nll(found, batch.y) + beta * apart
    return (rows * batch.weight).sum()


def not_true(logits: Tensor, y: Tensor) -> Tensor:
    """log softmax over the classes but y [batch, classes]; next to no probability at y."""
    true = y[:, None] == torch.arange(logits.shape[1], device=y.device)
    return torch.where(true, OUT, logits).log_softmax(1)


def not_true_step(
    model: Model,
    v: Params,
    batch: Batch,
    w: Params,
    beta: Tensor,
    temperature: Tensor,
    lr: Tensor,
) -> Params:
    """v ← v − lr ∇(L_CE + β L_NTD)."""
    return descend(v, gradient(objective)(v, model, batch, w, beta, temperature), lr)
