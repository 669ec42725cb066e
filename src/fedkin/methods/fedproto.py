"""FedProto (Tan, Long, Liu, Zhou, Lu, Jiang & Zhang, 2022): clients exchange the mean features of
each class, and no parameters. Algorithm 1.
"""

from typing import Literal

import torch

from fedkin.core.aggregation import Mean, WeightedSum
from fedkin.core.hyperparameters import NotNegative, declared
from fedkin.core.method import ClientContext, FederationInit, Method, Needs, ServerContext
from fedkin.core.ops import scan
from fedkin.core.tree import Tree, dtype_of
from fedkin.methods.parts.alignment import aligned_step
from fedkin.methods.parts.prototypes import nearest, prototypes, size_of_features

__all__ = ["fedproto"]

CountedBy = Literal["samples", "clients"]
Predictor = Literal["prototypes", "head"]


@declared
def fedproto(
    *,
    lr: float,
    lam: NotNegative = 1.0,
    count: CountedBy = "samples",
    predictor: Predictor = "prototypes",
) -> Method:
    """FedProto: min L_S + λ L_R at each client, where L_R draws its features to the prototypes; the
    server takes the mean C̄^(j) of the clients' prototypes C_i^(j) of class j (equations 6 to 8).

    Readings: what is sent is made by the trained model in evaluation mode. A class that no client
    of the round has keeps its last C̄. Probabilities are softmax(−‖f(x) − C̄^(j)‖²), over the
    classes that have a C̄; before the first, the head's.

    Deviations: equation 6 divides by the number of clients once more, which would shrink every
    mean; here it does not. Equation 8 has Σ_j d(C_i^(j), C̄^(j)), which grows with the classes of a
    mini-batch, so that with many of them training diverges at λ = 1; here L_R is the authors'
    code's, the mean over a mini-batch of the mean squared difference of a sample's features and its
    class's C̄. Their code sends the mean features of the last local epoch, and predicts only among
    the classes that the client has.

    Args:
        lr: Learning rate of local SGD.
        lam: λ, the pull towards the prototypes; 1 in the paper, 0.1 on CIFAR-10.
        count: What a client counts in C̄^(j): "samples" is |D_i,j|/N_j of equation 6, "clients" the
            plain mean of the authors' code.
        predictor: "prototypes" predicts the class of the nearest C̄^(j) (equation 4), "head" by the
            client's model.
    """

    def server(start: FederationInit) -> Tree:
        size = size_of_features(start, "fedproto")
        like = torch.zeros(start.classes, size, dtype=dtype_of(start.parameters))
        return {"centroids": like, "coefficients": like[:, 0].clone()}

    def client_update(received: Tree, own: Tree, data: ClientContext) -> tuple[Tree, Tree]:
        there = received["centroids"], received["coefficients"]
        w = scan(aligned_step, own["parameters"], data.batches(), {}, *there, lam, lr * data.decay)
        mine, counts = prototypes(data, w)
        share = counts if count == "samples" else (counts > 0).to(counts.dtype)
        return {"parameters": w}, {"centroids": share[:, None] * mine, "coefficients": share}

    def personal_models(received: Tree, own: Tree, data: ClientContext) -> dict[str, Tree]:
        if predictor == "head" or not received["coefficients"].any():
            return {"personal": {"parameters": own["parameters"]}}
        return {"personal": {**own, **received}}

    return Method(
        name="fedproto",
        server=server,
        client=lambda initial, info: {"parameters": initial},
        broadcast=lambda state, client: state,
        client_update=client_update,
        expected_update=lambda received, info: received,
        aggregation=WeightedSum("uniform", ("centroids", "coefficients")),
        server_update=server_update,
        personal_models=personal_models,
        predict=nearest,
        check=lambda start, participants: _check(start),
        # sums and counts of classes are divided by each other: a rule of coordinates would not fit
        needs=Needs(one_architecture=False, classes=True, head=True, plain_mean=True),
    )


def _check(start: FederationInit) -> None:
    size_of_features(start, "fedproto")


def server_update(state: Tree, sent: Mean, server: ServerContext) -> Tree:
    """C̄^(j) ← Σ_i a_ij C_i^(j) / Σ_i a_ij over the clients that have class j."""
    mass = sent.mean["coefficients"]
    mean = sent.mean["centroids"] / torch.where(mass > 0, mass, 1.0)[:, None]
    here = (mass > 0).to(mass.dtype)
    return {
        "centroids": torch.where(here[:, None] > 0, mean, state["centroids"]),
        "coefficients": torch.maximum(here, state["coefficients"]),
    }
