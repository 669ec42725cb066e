"""pFedMe (Dinh, Tran & Nguyen, 2020): personal models as Moreau envelopes around one
global model.
"""

import torch

from fedkin.core.aggregation import Mean, WeightedSum
from fedkin.core.hyperparameters import Count, NotNegative, Positive, Start, Weights, declared
from fedkin.core.method import Method, ServerContext
from fedkin.core.tree import Tree, mix, row, stack
from fedkin.methods.cgpfl import cgpfl


@declared
def pfedme(
    *,
    lr: float,
    lam: NotNegative = 1.0,
    personal_lr: Positive = 0.1,
    inner: Count = 5,
    beta: Positive = 1.0,
    start: Start = "persistent",
    weights: Weights = "uniform",
) -> Method:
    """pFedMe: CGPFL with one cluster, which is how CGPFL's authors define it. So nothing is
    clustered, and the server needs the mean alone.

    The personal view is θ, not w: the two are reported apart.

    Readings: Algorithm 1 leaves the inner solver's start open; the authors' public code has
    "received". The server's mean is uniform over the participants, as printed. η = 0.1 is the
    README's of that code, with λ = 15: ηλ is 1.5 then, and from 1 on a step of θ goes beyond w.
    Deviation: the authors' public code adds 0.001 θ to the gradient, which [train] weight_decay
    does here, and averages by samples, which weights = "samples" does.

    Args:
        lr: The learning rate of the local copy w.
        lam: λ of the Moreau envelope; 15 in the README of the authors' code, and 1 validated best
            on the leaderboard's federations.
        personal_lr: The step of the personal model θ.
        inner: Gradient steps on each mini-batch (K of the paper).
        beta: β, the server's step towards the mean, w ← w + β (mean − w); 1 is the mean. [train]
            steps is R.
        start: What θ goes on from in a round: "persistent", the client's own θ, or "received", the
            w that it was sent.
        weights: "uniform" or "samples" (the authors' code): the weights of the server's mean.
    """
    base = cgpfl(lr=lr, clusters=1, lam=lam, personal_lr=personal_lr, inner=inner, start=start)

    def server_update(state: Tree, sent: Mean, server: ServerContext) -> Tree:
        w = mix(row(state["models"], 0), sent.mean["parameters"], beta)
        # a state as CGPFL's, so that runs of both with one cluster have one fingerprint
        cluster = state["cluster"].index_fill(0, torch.tensor(sent.clients), 0)
        return {**state, "models": stack([w]), "cluster": cluster}

    return base._replace(
        name="pfedme",
        aggregation=WeightedSum(weights),
        server_update=server_update,
        server_metrics=lambda state: {},
    )
