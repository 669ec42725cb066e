"""Clustered federated learning (Sattler, Müller & Samek, 2019/2020): FedAvg that splits its clients
when they disagree.

The recursion around Algorithm 2 (``parts/bipartition.py``).
"""

import math
from collections.abc import Mapping, Sequence
from typing import Literal

import torch
from torch import Tensor

from fedkin.core.aggregation import EachClient, Reply, Weights
from fedkin.core.hyperparameters import Part, Positive, declared
from fedkin.core.method import FederationInit, Method, Needs, ServerContext
from fedkin.core.tree import Params, Tree, dtype_of, flat, row, stack, sub, weighted_mean
from fedkin.methods.fedavg import fedavg
from fedkin.methods.parts.bipartition import Halves, bipartition
from fedkin.methods.parts.clusters import count_of, in_each_cluster

__all__ = ["clustered_fl"]


@declared
def clustered_fl(
    *,
    lr: float,
    eps1: Positive = 0.2,
    eps2: Positive = 0.4,
    gamma: Part = 0.5,
    unit: Literal["first", "absolute"] = "first",
    halves: Literal["parent", "means"] = "parent",
    weights: Weights = "samples",
) -> Method:
    """Clustered FL: a cluster is split where its mean update has become small while some client
    still pulls hard.

    How to choose: ε₁ well under what ``mean_update`` of the record starts with, ε₂ between the
    ``update`` of clients that agree and that of clients that do not; both are in the record of
    every round. The idea of the paper is that the mean goes to 0 where a cluster has come to rest,
    and an ε₂ for the number of clusters that is wanted; after several local steps the mean of
    clients that disagree does not come near 0.

    Readings: the paper's children start from the parent's model. A cluster is split only in a round
    in which all its members replied. The half of the lowest client keeps the cluster's number.
    Norms and similarities are of weights, not of batch-norm statistics. Updates shrink with the
    learning rate: no milestone should come before the splits.

    Deviations: ε are in units of the first round's largest ‖Δ_i‖ by default, the paper's are
    absolute. The paper's tree of former models, by which a new client finds its cluster, is not
    built. The authors' code bipartitions by complete linkage, which does not give the halves of
    Algorithm 2.

    Args:
        lr: Learning rate of local SGD.
        eps1: ε₁, a split needs ‖Σ p_i Δ_i‖ < ε₁, in ``unit``.
        eps2: ε₂, and max ‖Δ_i‖ > ε₂, in ``unit``.
        gamma: γ_max, and γ_max < sqrt((1 − α_cross) / 2), that is α_cross < 1 − 2γ²: the assumed
            noise of updates; larger splits less readily, at most 1.
        unit: What ε is measured in: "first", the largest ‖Δ_i‖ of the first round, or "absolute",
            as the paper's.
        halves: What both halves start from: "parent", its updated model, or "means", each the mean
            of its own members in the round of the split (the authors' code; near a stationary point
            there is little between the two).
        weights: "samples" or "uniform": the weights of means; the authors' code has "uniform".
    """
    base = fedavg(lr=lr)

    def server(start: FederationInit) -> Tree:
        nobody = torch.zeros(len(start.clients), dtype=dtype_of(start.only()))
        return {
            "parameters": stack([start.only()]),
            "cluster": torch.zeros(len(start.clients), dtype=torch.int64),
            "unit": 1.0 if unit == "absolute" else 0.0,
            "update": nobody,
            "mean_update": nobody,
        }

    def broadcast(state: Tree, client: int) -> Tree:
        return {"parameters": row(state["parameters"], int(state["cluster"][client]))}

    def server_update(state: Tree, replies: Mapping[int, Reply], server: ServerContext) -> Tree:
        models, place, scale = models_of(state), state["cluster"], state["unit"]
        cluster = place.clone()
        update, mean_update = state["update"].clone(), state["mean_update"].clone()
        for k, before in enumerate(models_of(state)):
            members = [client for client in replies if int(place[client]) == k]
            if not members:
                continue
            sent = [replies[client] for client in members]
            models[k] = mean_of(sent)
            updates = torch.stack([flat(sub(one.message["parameters"], before)) for one in sent])
            norms, mean = updates.norm(dim=1), float(flat(sub(models[k], before)).norm())
            scale = scale or float(norms.max())  # the first round has one cluster
            update[members], mean_update[place == k] = norms / (scale or 1.0), mean / (scale or 1.0)
            complete = len(members) == int((place == k).sum()) > 1
            cut = disagreement(updates, mean, scale) if complete else None
            if cut is not None:
                cluster[[members[i] for i in cut.half(first=False)]] = len(models)
                models[k], child = children(models[k], sent, cut, halves)
                models.append(child)
        return {
            "parameters": stack(models),
            "cluster": cluster,
            "unit": scale,
            "update": update,
            "mean_update": mean_update,
        }

    def disagreement(updates: Tensor, mean: float, scale: float) -> Halves | None:
        """The halves of a cluster that came to rest while some member pulls hard, if they are
        further apart than noise takes them.
        """
        if mean < eps1 * scale and float(updates.norm(dim=1).max()) > eps2 * scale:
            cut = bipartition(updates)
            if gamma < math.sqrt(max(1 - cut.cross, 0.0) / 2):
                return cut
        return None

    return base._replace(
        name="clustered_fl",
        server=server,
        broadcast=broadcast,
        aggregation=EachClient(weights),
        server_update=server_update,
        personal_models=lambda received, own, data: {"personal": received["parameters"]},
        server_metrics=server_metrics,
        newcomer_placements=lambda state, newcomer, info: in_each_cluster(
            state, state["parameters"]
        ),
        needs=Needs(full_participation=True),
    )


def models_of(state: Tree) -> list[Params]:
    """The model of each cluster."""
    return [row(state["parameters"], k) for k in range(count_of(state["parameters"]))]


def mean_of(sent: Sequence[Reply]) -> Params:
    """Σ p_i θ_i."""
    mean: Params = weighted_mean(
        [reply.message["parameters"] for reply in sent], [reply.weight for reply in sent]
    )
    return mean


def children(
    parent: Params, sent: Sequence[Reply], cut: Halves, start: str
) -> tuple[Params, Params]:
    """What the two halves of a cluster start from: ``start`` is "parent" or "means"."""
    if start == "parent":
        return parent, parent
    stay, leave = ([sent[i] for i in cut.half(first)] for first in (True, False))
    return mean_of(stay), mean_of(leave)


def server_metrics(state: Tree) -> dict[str, dict[int, float]]:
    """Who is in which cluster, and the norms that decide: of each client's update, and of its
    cluster's mean.
    """
    by_client = {
        name: dict(enumerate(state[name].tolist())) for name in ("cluster", "update", "mean_update")
    }
    return {**by_client, "clusters": {-1: count_of(state["parameters"])}}
