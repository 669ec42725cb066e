"""kNN-Per (Marfoq, Neglia, Kameni & Vidal, 2022): FedAvg, then each client remembers what its
training samples look like to the global model. Algorithm 1.
"""

import torch
from torch import Tensor

from fedkin.core.hyperparameters import Count, Positive, Weights, declared
from fedkin.core.method import ClientContext, Method, Needs, plain_prediction
from fedkin.core.model import Model, head_of
from fedkin.core.ops import correct
from fedkin.core.tree import Tree
from fedkin.methods.fedavg import fedavg

__all__ = ["knn_per"]

SHARES = tuple(step / 10 for step in range(11))  # of λ that are tried
LEAST = 1e-30  # smallest probability whose logarithm is taken; finite in float32


@declared
def knn_per(
    *, lr: float, k: Count = 10, scale: Positive = 1.0, weights: Weights = "samples"
) -> Method:
    """kNN-Per: λ_i h_kNN(x) + (1 − λ_i) h(x), where h is FedAvg's model and h_kNN counts the k
    nearest training samples of the client by e^{−‖f(x) − f(x_s)‖/scale}.

    Readings: λ_i is that of 0, 0.1, … 1 with the most right validation samples, then the least
    loss, then the smallest: the paper tunes it so on data held out. Features are what enters the
    head, of the last global model in evaluation mode. Until the end the personal view is the global
    model. A new client remembers its own samples.

    Deviations: the authors' public code votes by e^{−distance²/(features · scale)}, of an LSTM it
    remembers all hidden and cell states, and its script scores every λ on test samples.

    Args:
        lr: Learning rate of FedAvg's local SGD.
        k: Neighbours that are looked at; 10 in the paper.
        scale: Of distances between features; 1 in the paper.
        weights: "samples" or "uniform": the weights of the server's mean.
    """

    def finalize(received: Tree, own: Tree, data: ClientContext) -> Tree:
        w = received["parameters"]
        train = data.whole("train")
        with torch.inference_mode():
            found = torch.cat([head_of(data.model).features(w, batch.x) for batch in train])
        store = {
            "features": found,
            "labels": torch.cat([batch.y for batch in train]),
            "k": min(k, len(found)),
            "scale": scale,
        }
        return {**store, "share": chosen({"parameters": w, **store}, data)}

    def personal_models(received: Tree, own: Tree, data: ClientContext) -> dict[str, Tree]:
        w = received["parameters"]
        return {"personal": {"parameters": w, **own}, "global": {"parameters": w}}

    return fedavg(lr=lr, weights=weights)._replace(
        name="knn_per",
        finalize=finalize,
        personal_models=personal_models,
        predict=mixed,
        client_metrics=lambda own: {"share": own["share"]} if "share" in own else {},
        needs=Needs(classes=True, validation=True, head=True),
    )


def chosen(store: Tree, data: ClientContext) -> float:
    """λ_i, by the client's validation samples."""
    ours, near, labels = [], [], []
    with torch.inference_mode():
        for batch in data.whole("val"):
            ours.append(plain_prediction(data.model, store["parameters"], batch.x).exp())
            near.append(neighbours(data.model, store, batch.x, ours[-1].shape[1]))
            labels.append(batch.y)
    a, b, y = torch.cat(ours).double(), torch.cat(near).double(), torch.cat(labels)
    scores = []
    for share in SHARES:
        mixture = (1 - share) * a + share * b
        hits = int(correct(mixture, y).sum())
        loss = float(-mixture.gather(1, y[:, None]).clamp_min(LEAST).log().mean())
        scores.append((-hits, loss, share))
    return min(scores)[2]


def neighbours(model: Model, store: Tree, x: Tensor, classes: int) -> Tensor:
    """h_kNN [batch, classes]: what each class of the k nearest counts, summing to 1."""
    found = head_of(model).features(store["parameters"], x)
    apart, order = distances(found, store["features"]).sort(dim=1, stable=True)
    nearest = order[:, : store["k"]]
    counts = torch.softmax(-apart[:, : store["k"]] / store["scale"], 1)
    votes = torch.zeros(found.shape[0], classes, dtype=found.dtype, device=found.device)
    return votes.scatter_add(1, store["labels"][nearest], counts)


def distances(a: Tensor, b: Tensor) -> Tensor:
    """‖a_i − b_j‖ [rows of a, rows of b], from differences: exact where two are near."""
    return torch.cdist(a, b, compute_mode="donot_use_mm_for_euclid_dist")


def mixed(model: Model, view: Tree, x: Tensor) -> Tensor:
    """log(λ h_kNN + (1 − λ) h) [batch, classes]; log h where nothing is remembered."""
    ours = plain_prediction(model, view["parameters"], x)
    if "share" not in view:
        return ours
    near = neighbours(model, view, x, ours.shape[1])
    mixture: Tensor = (1 - view["share"]) * ours.exp() + view["share"] * near
    return mixture.clamp_min(LEAST).log()
