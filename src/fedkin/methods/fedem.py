"""FedEM: federated learning under a mixture of distributions (Marfoq, Neglia, Bellet, Kameni &
Vidal, 2021).

K component models are shared; each client mixes their PREDICTIONS with its own weights π. Algorithm
1 (2 in detail).
"""

import torch
from torch import Tensor

from fedkin.core.hyperparameters import Count, Weights, declared
from fedkin.core.method import ClientContext, ClientInfo, FederationInit, Method, plain_prediction
from fedkin.core.model import Batch, Model
from fedkin.core.ops import descend, gradient, outputs, scan
from fedkin.core.tree import Params, Tree, dtype_of, row, stack
from fedkin.methods.fedavg import fedavg

__all__ = ["fedem"]


def _weighted(w: Params, model: Model, batch: Batch, q: Tensor) -> Tensor:
    """Σ_s weight_s q(s) l(h(x_s), y_s): one component's part of the mini-batch's loss."""
    return model.loss(w, batch._replace(weight=batch.weight * q))


def _step(
    model: Model, components: tuple[Params, ...], pair: tuple[Batch, Tensor], lr: Tensor
) -> tuple[Params, ...]:
    """One mini-batch for every component, each with its own column of q [batch, K]."""
    batch, q = pair
    return tuple(
        descend(w, gradient(_weighted)(w, model, batch, q[:, k]), lr, of=str(k))
        for k, w in enumerate(components)
    )


def losses(models: Params, count: int, data: ClientContext) -> Tensor:
    """l(h_k(x_s), y_s) [n_i, K] of all training samples, in evaluation mode."""
    batches = data.whole("train")
    y = torch.cat([batch.y for batch in batches])
    each = [
        data.model.family.nll(outputs(data.model, row(models, k), batches), y) for k in range(count)
    ]
    return torch.stack(each, 1)


def responsibilities(loss: Tensor, membership: Tensor) -> Tensor:
    """The E-step: q_k(s) ∝ π_k exp(−l(h_k; s)) [n_i, K]."""
    return torch.softmax(membership.log() - loss, 1)


@declared
def fedem(
    *, lr: float, components: Count = 3, fits: Count = 10, weights: Weights = "samples"
) -> Method:
    """FedEM: every client mixes the predictions of K shared models by weights of its own.

    Readings: one E-step a round, over all training samples and with the components as received (in
    evaluation mode); π becomes the mean of q, and the SGD steps of all components run on the same
    mini-batches with q fixed. π stays home and is kept from the client's last work: it is used with
    the newer components until it works again, and is uniform before. For regression the mixture
    predicts its mean. ``fits`` starts from the π at home, also of clients that took part.

    Args:
        lr: Learning rate of local SGD.
        components: K (the paper's M), from different draws; 1 is FedAvg.
        fits: E-steps with fixed components after the last round, by which any client, a new one
            too, finds its π.
        weights: "samples" or "uniform": the weights of the mean.
    """
    base = fedavg(lr=lr, weights=weights)

    def server(start: FederationInit) -> Tree:
        return {"parameters": stack([start.draw(k) for k in range(components)])}

    def client(initial: Params, info: ClientInfo) -> Tree:
        return {"membership": torch.full((components,), 1 / components, dtype=dtype_of(initial))}

    def client_update(received: Tree, own: Tree, data: ClientContext) -> tuple[Tree, Tree]:
        models = received["parameters"]
        q = responsibilities(losses(models, components, data), own["membership"])
        start = tuple(row(models, k) for k in range(components))
        trained = scan(_step, start, data.batches(beside=q), lr * data.decay)
        return {"membership": q.mean(0)}, {"parameters": stack(trained)}

    def finalize(received: Tree, own: Tree, data: ClientContext) -> Tree:
        loss, membership = losses(received["parameters"], components, data), own["membership"]
        for _ in range(fits):
            membership = responsibilities(loss, membership).mean(0)
        return {"membership": membership}

    return base._replace(
        name="fedem",
        server=server,
        client=client,
        client_update=client_update,
        personal_models=lambda received, own, data: {
            "personal": {"models": received["parameters"], "membership": own["membership"]}
        },
        predict=mixture,
        finalize=finalize,
        client_metrics=lambda own: {"membership": own["membership"].tolist()},
    )


def mixture(model: Model, view: Tree, x: Tensor) -> Tensor:
    """log Σ_k π_k softmax(h_k(x)) [batch, classes], or Σ_k π_k h_k(x) for regression."""
    models, weights = view["models"], view["membership"]
    each = torch.stack([plain_prediction(model, row(models, k), x) for k in range(len(weights))])
    if not model.family.classes:
        means: Tensor = torch.tensordot(weights, each, dims=1)
        return means
    return torch.logsumexp(each + weights.log()[:, None, None], 0)
