"""MOON (Li, He & Song, 2021): FedAvg whose clients keep their features near the global model's and
away from their own last ones. Algorithm 1.
"""

import torch
from torch import Tensor

from fedkin.core.hyperparameters import NotNegative, Positive, Weights, declared
from fedkin.core.method import ClientContext, Method, Needs
from fedkin.core.model import Batch, Model, head_of
from fedkin.core.ops import descend, gradient, scan
from fedkin.core.tree import Params, Tree
from fedkin.methods.fedavg import fedavg

__all__ = ["moon"]


@declared
def moon(
    *, lr: float, mu: NotNegative = 1.0, temperature: Positive = 0.5, weights: Weights = "samples"
) -> Method:
    """MOON: local steps descend ℓ_sup + μ ℓ_con, where s is the cosine and

    ℓ_con = −log (e^{s(z, z_glob)/τ} / (e^{s(z, z_glob)/τ} + e^{s(z, z_prev)/τ})).

    Readings: z_glob and z_prev are in evaluation mode and stand still. At a client's first
    participation z_prev is the initial model's: in the first round the two are one, and the
    contrast has no slope.

    Deviations: in the paper a projection of two layers stands before the head, and z is what it
    gives; here the model has none, and z is what enters its head. The authors' code leaves the
    contrast out in the first round. Later, z_prev of a client that takes part for the first time is
    a random draw's, one for each client.

    Args:
        lr: Learning rate of local SGD.
        mu: μ, the weight of the contrast; the paper chooses among 0.1, 1, 5 and 10, and 0 is
            FedAvg.
        temperature: τ of the contrast.
        weights: "samples" or "uniform": the weights of the server's mean.
    """

    def client_update(received: Tree, own: Tree, data: ClientContext) -> tuple[Tree, Tree]:
        w, before = received["parameters"], own["parameters"]
        rates = mu, temperature, lr * data.decay
        w = scan(contrastive_step, w, data.batches(), w, before, *rates)
        return {"parameters": w}, {"parameters": w}

    return fedavg(lr=lr, weights=weights)._replace(
        name="moon",
        client=lambda initial, info: {"parameters": initial},
        client_update=client_update,
        needs=Needs(head=True),
    )


def objective(
    w: Params, model: Model, batch: Batch, ours: Params, before: Params, mu: Tensor, t: Tensor
) -> Tensor:
    """ℓ_sup + μ ℓ_con on a mini-batch."""
    head = head_of(model)
    z = head.train_features(w, batch.x)
    near = torch.cosine_similarity(z, head.features(ours, batch.x), 1)
    far = torch.cosine_similarity(z, head.features(before, batch.x), 1)
    contrast = -torch.log_softmax(torch.stack([near, far], 1) / t, 1)[:, 0]
    rows = model.family.nll(head.scores(w, z), batch.y) + mu * contrast
    return (rows * batch.weight).sum()


def contrastive_step(
    model: Model,
    w: Params,
    batch: Batch,
    ours: Params,
    before: Params,
    mu: Tensor,
    temperature: Tensor,
    lr: Tensor,
) -> Params:
    """w ← w − lr ∇(ℓ_sup + μ ℓ_con)."""
    return descend(w, gradient(objective)(w, model, batch, ours, before, mu, temperature), lr)
