"""FedTGP (Zhang, Liu, Hua & Cao, 2024): FedProto whose server trains the prototypes that it hands
out, so that those of different classes stand apart. Algorithm 1.
"""

from collections.abc import Mapping

import torch

from fedkin.core.aggregation import EachClient, Reply
from fedkin.core.hyperparameters import Count, NotNegative, Positive, declared
from fedkin.core.method import ClientContext, FederationInit, Method, Needs, ServerContext
from fedkin.core.ops import scan
from fedkin.core.tree import Tree, dtype_of
from fedkin.methods.parts.alignment import aligned_step
from fedkin.methods.parts.prototypes import nearest, prototypes, size_of_features
from fedkin.methods.parts.trained_prototypes import generated, generator, separated


@declared
def fedtgp(
    *,
    lr: float,
    lam: NotNegative = 1.0,
    margin: NotNegative = 100.0,
    server_epochs: Count = 100,
    server_lr: Positive = 0.01,
    server_batch: Count = 10,
) -> Method:
    """FedTGP: min ℓ + λ E_c φ(P_i^c, P̂^c) at each client; the server trains P̂^c = F(P̊^c) on what
    clients sent, by the contrast −log e^{−φ(P_i^c, P̂^c) − δ} / (e^{−φ(P_i^c, P̂^c) − δ} +
    Σ_{c' ≠ c} e^{−φ(P_i^c, P̂^c')}).

    Readings: φ is the Euclidean distance at the server; at a client it is the mean squared
    difference of a sample's features and its class's P̂, as in the authors' code, and E the mean
    over a mini-batch. F is two linear layers as wide as features, with a ReLU between; it goes on
    from round to round. A class that no client has sent yet pulls nothing and is never predicted.
    Predictions are of the nearest P̂^c; before the first, the head's. Clients count alike.

    Deviations: the authors' code makes P_i^c by the model of the client's round before, which it
    reads before it saves the new one. It also hands out P̂^c of classes that nobody has sent, and
    takes for max φ(Q^c, Q^c') the largest of the distances from a Q^c to the nearest other one,
    which is less.

    Args:
        lr: Learning rate of local SGD.
        lam: λ, the pull towards the prototypes; 10 in the authors' script, and 1 validated best on
            the leaderboard's federations.
        margin: τ, the most that δ(t) = min(max φ(Q^c, Q^c'), τ) is, Q^c the mean over a round's
            clients of P_i^c.
        server_epochs: Passes of the server's SGD of F and P̊ over the prototypes of a round.
        server_lr: Learning rate of F and P̊.
        server_batch: Prototypes of a step of theirs.
    """

    def server(start: FederationInit) -> Tree:
        size, dtype = size_of_features(start, "fedtgp"), dtype_of(start.parameters)
        return {
            "generator": generator(start.classes, size, dtype, start.key.torch("prototypes")),
            "centroids": torch.zeros(start.classes, size, dtype=dtype),
            "coefficients": torch.zeros(start.classes, dtype=dtype),
        }

    def client_update(received: Tree, own: Tree, data: ClientContext) -> tuple[Tree, Tree]:
        there = received["centroids"], received["coefficients"]
        w = scan(aligned_step, own["parameters"], data.batches(), {}, *there, lam, lr * data.decay)
        mine, counts = prototypes(data, w)
        has = (counts > 0).to(counts.dtype)
        return {"parameters": w}, {"centroids": mine, "coefficients": has}

    def server_update(state: Tree, replies: Mapping[int, Reply], server: ServerContext) -> Tree:
        sent = torch.stack([reply.message["centroids"] for reply in replies.values()])
        has = torch.stack([reply.message["coefficients"] for reply in replies.values()]) > 0
        rng, rates = server.key.numpy("prototypes"), (server_lr, margin)
        new = separated(state["generator"], sent, has, rng, server_epochs, server_batch, *rates)
        known = torch.maximum(has.any(0).to(sent.dtype), state["coefficients"])
        return {"generator": new, "centroids": generated(new), "coefficients": known}

    def personal_models(received: Tree, own: Tree, data: ClientContext) -> dict[str, Tree]:
        if not received["coefficients"].any():
            return {"personal": {"parameters": own["parameters"]}}
        return {"personal": {**own, **received}}

    def check(start: FederationInit, participants: int) -> None:
        size_of_features(start, "fedtgp")

    return Method(
        name="fedtgp",
        server=server,
        client=lambda initial, info: {"parameters": initial},
        broadcast=lambda state, client: {
            name: state[name] for name in ("centroids", "coefficients")
        },
        client_update=client_update,
        expected_update=lambda received, info: received,
        aggregation=EachClient("uniform"),
        server_update=server_update,
        personal_models=personal_models,
        predict=nearest,
        check=check,
        needs=Needs(one_architecture=False, classes=True, head=True),
    )
