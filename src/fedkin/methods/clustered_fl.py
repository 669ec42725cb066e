"""Clustered federated learning (Sattler, Müller & Samek, 2019/2020): FedAvg that splits its clients
when they disagree.

Algorithm 2 (optimal bipartition) and the recursion around it.
"""

import math
from collections.abc import Mapping
from typing import Literal, NamedTuple

import torch
from torch import Tensor

from fedkin.core.aggregation import EachClient, Reply, Weights
from fedkin.core.hyperparameters import Part, Positive, declared
from fedkin.core.method import FederationInit, Method, Needs, ServerContext
from fedkin.core.tree import Tree, dtype_of, flat, row, stack, sub, weighted_mean
from fedkin.methods.fedavg import fedavg
from fedkin.methods.parts.clusters import in_each_cluster

__all__ = ["clustered_fl"]


class Halves(NamedTuple):
    """A cluster in two: whether each member is in the half of the first one, and the largest
    similarity across.
    """

    first: list[bool]
    cross: float


def bipartition(updates: Tensor) -> Halves:
    """The two halves of rows [m, d], m ≥ 2, whose largest cosine similarity across, α_cross, is
    least (Algorithm 2).

    That is single linkage cut at two: to make the closest pair ACROSS as far apart as can be, the
    closest pairs are joined first, until two groups are left; complete linkage would look at the
    farthest pairs within.
    """
    from scipy.cluster.hierarchy import cut_tree, linkage

    unit = torch.nn.functional.normalize(updates, dim=1)
    similar = (unit @ unit.T).to(torch.float64).numpy()
    above = [(i, j) for i in range(len(similar)) for j in range(i + 1, len(similar))]
    far = [max(1 - similar[pair], 0.0) for pair in above]
    labels = cut_tree(linkage(far, "single"), n_clusters=[2])[:, 0]
    first = (labels == labels[0]).tolist()
    return Halves(first, float(max(similar[i, j] for i, j in above if first[i] != first[j])))


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
    Deviation: the authors' code bipartitions by complete linkage, which does not give the halves of
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
        place, scale = state["cluster"], state["unit"]
        models = [row(state["parameters"], k) for k in range(count_of(state))]
        cluster = place.clone()
        update, mean_update = state["update"].clone(), state["mean_update"].clone()
        for k, before in enumerate(list(models)):
            members = [client for client in replies if int(place[client]) == k]
            if not members:
                continue
            sent = [replies[i].message["parameters"] for i in members]
            mass = [replies[i].weight for i in members]
            models[k] = weighted_mean(sent, mass)
            updates = torch.stack([flat(sub(w, before)) for w in sent])
            norms, mean = updates.norm(dim=1), float(flat(sub(models[k], before)).norm())
            scale = scale or float(norms.max())  # the first round has one cluster
            update[members], mean_update[place == k] = norms / (scale or 1.0), mean / (scale or 1.0)
            complete = len(members) == int((place == k).sum()) > 1
            if complete and mean < eps1 * scale and float(norms.max()) > eps2 * scale:
                found = bipartition(updates)
                if gamma < math.sqrt(max(1 - found.cross, 0.0) / 2):
                    leaving = [i for i, stays in zip(members, found.first) if not stays]
                    cluster[leaving] = len(models)
                    models.append(models[k])
                    if halves == "means":
                        parts = [
                            [i for i in range(len(sent)) if found.first[i] is stays]
                            for stays in (True, False)
                        ]
                        models[k], models[-1] = (
                            weighted_mean([sent[i] for i in part], [mass[i] for i in part])
                            for part in parts
                        )
        return {
            "parameters": stack(models),
            "cluster": cluster,
            "unit": scale,
            "update": update,
            "mean_update": mean_update,
        }

    return base._replace(
        name="clustered_fl",
        server=server,
        broadcast=broadcast,
        aggregation=EachClient(),
        server_update=server_update,
        personal_models=lambda received, own, data: {"personal": received["parameters"]},
        server_metrics=server_metrics,
        newcomer_placements=lambda state, newcomer, info: in_each_cluster(state, count_of(state)),
        needs=Needs(full_participation=True),
    )


def count_of(state: Tree) -> int:
    """How many clusters there are."""
    return len(next(iter(state["parameters"].values())))


def server_metrics(state: Tree) -> dict[str, dict[int, float]]:
    """Who is in which cluster, and the norms that decide: of each client's update, and of its
    cluster's mean.
    """
    by_client = {
        name: dict(enumerate(state[name].tolist())) for name in ("cluster", "update", "mean_update")
    }
    return {**by_client, "clusters": {-1: count_of(state)}}
