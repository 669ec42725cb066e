"""Fed-RoD (Chen & Chao, 2022): one generic head, trained with balanced softmax and averaged, and
beside it a head of each client's own. Algorithm 1.
"""

import torch
from torch import Tensor

from fedkin.core.family import CATEGORICAL
from fedkin.core.hyperparameters import NotNegative, Positive, Weights, declared
from fedkin.core.method import ClientContext, FederationInit, Method, Needs
from fedkin.core.model import Batch, Head, Model, head_of
from fedkin.core.ops import descend, gradient, scan
from fedkin.core.tree import Params, Tree
from fedkin.methods.fedavg import fedavg
from fedkin.methods.parts.checks.linear_head import check_linear_head

__all__ = ["fedrod"]


@declared
def fedrod(
    *,
    lr: float,
    gamma: NotNegative = 0.1,
    personal_lr: Positive | None = None,
    weights: Weights = "samples",
) -> Method:
    """Fed-RoD: features θ and generic head ψ descend the balanced risk and are averaged; the own
    head φ_i descends the plain risk of ψ(z) + φ_i(z), z = f(x; θ), while θ and ψ stand still.

    Readings: both gradients of a step are of one mini-batch, at the same θ and ψ. φ_i starts at 0,
    where the personal predictor is the generic one, and stays at home between rounds. Both heads
    are linear, so that the personal model is one with the head ψ + φ_i.
    Deviations: the paper's hypernetwork (Fed-RoD with hyper-heads) and FedDyn's local term are not
    built. The authors published no code; that of others starts φ_i at a copy of ψ, which doubles
    the first logits.

    Args:
        lr: Learning rate of θ and ψ.
        gamma: γ of balanced softmax, q_c ∝ n_ic^γ e^{g_c}, n_ic the client's training samples of
            class c; 0 is FedAvg. 1 in the paper, and 0.1 validated best on the leaderboard's
            federations.
        personal_lr: Learning rate of φ_i; lr if not given.
        weights: "samples" or "uniform": the weights of the server's mean.
    """
    rate = lr if personal_lr is None else personal_lr

    def client_update(received: Tree, own: Tree, data: ClientContext) -> tuple[Tree, Tree]:
        head = head_of(data.model)
        mine = own.get("head") or fresh(received["parameters"], head)
        counts = data.info.histogram.to(mine[head.names[0]].dtype) ** gamma
        w, mine = scan(
            joint_step,
            (received["parameters"], mine),
            data.batches(),
            counts.log(),
            lr * data.decay,
            rate * data.decay,
        )
        return {"head": mine}, {"parameters": w}

    def personal_models(received: Tree, own: Tree, data: ClientContext) -> dict[str, Params]:
        w = received["parameters"]
        mine = own.get("head") or {}
        return {"personal": together(w, mine) if mine else w, "global": w}

    def check(start: FederationInit, participants: int) -> None:
        check_linear_head("fedrod adds the scores of a linear head of a client's own", start)

    return fedavg(lr=lr, weights=weights)._replace(
        name="fedrod",
        client_update=client_update,
        personal_models=personal_models,
        check=check,
        needs=Needs(classes=True, head=True),
    )


def fresh(w: Params, head: Head) -> Params:
    """φ = 0, in the shapes of the head."""
    return {name: torch.zeros_like(w[name]) for name in head.names}


def together(w: Params, mine: Params) -> Params:
    """The model whose head is ψ + φ."""
    return {name: value + mine[name] if name in mine else value for name, value in w.items()}


def balanced(w: Params, model: Model, batch: Batch, prior: Tensor) -> Tensor:
    """Balanced risk: cross-entropy of the logits g + γ log n; ``prior`` [classes] is γ log n."""
    logits = model.train_outputs(w, batch.x)
    if logits.shape[1] == 1:  # log odds of the second of two classes: the first one's logit is 0
        logits = torch.cat([torch.zeros_like(logits), logits], 1)
    return (CATEGORICAL.nll(logits + prior, batch.y) * batch.weight).sum()


def empirical(mine: Params, model: Model, batch: Batch, w: Params) -> Tensor:
    """Plain risk of the two heads together."""
    return model.loss(together(w, mine), batch)


def joint_step(
    model: Model,
    parts: tuple[Params, Params],
    batch: Batch,
    prior: Tensor,
    lr: Tensor,
    personal_lr: Tensor,
) -> tuple[Params, Params]:
    """(θ, ψ) by the balanced risk, φ by the plain one, both at where they stood."""
    w, mine = parts
    slope = gradient(empirical)(mine, model, batch, w)
    moved = descend(w, gradient(balanced)(w, model, batch, prior), lr)
    return moved, descend(mine, slope, personal_lr, "personal")
