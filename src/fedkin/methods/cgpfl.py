"""CGPFL: personalized FL with clustered generalization (under review at ICLR 2022). Algorithm 1.

K cluster models Ω; each client solves a Moreau envelope around the model of its cluster and uploads
its local copy; the server clusters the uploads. K = 1 is pFedMe.
"""

from collections.abc import Mapping

import torch
from torch import Tensor

from fedkin.core.aggregation import EachClient, Reply
from fedkin.core.clustering import Clusters, kmeans, match
from fedkin.core.errors import FedkinError
from fedkin.core.hyperparameters import Count, NotNegative, Positive, Start, Weights, declared
from fedkin.core.method import ClientContext, ClientInfo, FederationInit, Method, ServerContext
from fedkin.core.model import Batch, Model
from fedkin.core.ops import descend, gradient, scan
from fedkin.core.tree import Params, RunningMean, Tree, flat, map_tree, mix, row, sq_dist, stack
from fedkin.methods.parts.clusters import NOT_HEARD, clusters_of, count_of, in_each_cluster

__all__ = ["cgpfl", "largest", "regroup", "uploads", "widen"]


@declared
def cgpfl(
    *,
    lr: float,
    clusters: Count = 4,
    lam: NotNegative = 12.0,
    personal_lr: Positive = 0.05,
    inner: Count = 5,
    alpha: Positive = 1.0,
    start: Start = "persistent",
    weights: Weights = "uniform",
) -> Method:
    """CGPFL: a client has a model of its own near the shared model of its cluster.

    The paper: clusters 4, lam 12, inner 5, alpha 1, [train] steps 10, lr 0.005, batch 20.

    Readings: η is not in the paper; with 0.05 ηλ is 0.6, and from 1 on a step of θ goes beyond ω.
    Algorithm 1 does not say what θ starts from. The mean within a cluster is uniform by default.
    New clusters are matched to the old ones by the assignment of least squared distance, so that
    mixing (α < 1) is meaningful and cluster numbers are stable; a cluster without members keeps its
    model. A client that no round has had yet is in no cluster: it is sent the largest one's model.
    Deviation: line 10 of Algorithm 1 prints (2/N)(ω − θ) as the slope of ω; here it is the
    envelope's, λ(ω − θ).

    Args:
        lr: β, the learning rate of the local copy ω.
        clusters: K, models of the server.
        lam: λ of the Moreau envelope; 0 lets θ go where its own data pull.
        personal_lr: η, the step of the personal model θ.
        inner: S, gradient steps of θ on each mini-batch.
        alpha: α, the server's step towards the new means; 1 is the means. [train] steps is R.
        start: What θ goes on from in a round: "persistent", the client's own θ, or "received", the
            ω that it was sent, as in pFedMe's public code.
        weights: "samples" or "uniform": the weights of the mean within a cluster; k-means counts
            every upload once.
    """

    def envelope(theta: Params, model: Model, omega: Params, batch: Batch, pull: Tensor) -> Tensor:
        return model.loss(theta, batch) + pull / 2 * sq_dist(theta, omega)

    def step(
        model: Model,
        both: tuple[Params, Params],
        batch: Batch,
        eta: Tensor,
        beta: Tensor,
        pull: Tensor,
    ) -> Tree:
        theta, omega = both
        for _ in range(inner):
            theta = descend(theta, gradient(envelope)(theta, model, omega, batch, pull), eta)
        return theta, mix(omega, theta, beta * pull)  # ω ← ω − βλ (ω − θ)

    def server(start: FederationInit) -> Tree:
        models = stack([start.only()] * clusters)
        return {
            "models": models,
            "cluster": torch.full((len(start.clients),), NOT_HEARD, dtype=torch.int64),
            "stability": 1.0,
        }

    def client(initial: Params, info: ClientInfo) -> Tree:
        return {"theta": initial}

    def broadcast(state: Tree, client: int) -> Tree:
        own = int(state["cluster"][client])
        return {"parameters": row(state["models"], own if own != NOT_HEARD else largest(state))}

    def client_update(received: Tree, own: Tree, data: ClientContext) -> tuple[Tree, Tree]:
        omega = received["parameters"]
        theta = own["theta"] if start == "persistent" else omega
        eta, beta = personal_lr * data.decay, lr * data.decay
        theta, omega = scan(step, (theta, omega), data.batches(), eta, beta, lam)
        return {"theta": theta}, {"parameters": omega}

    def server_update(state: Tree, replies: Mapping[int, Reply], server: ServerContext) -> Tree:
        return regroup(state, replies, kmeans(uploads(replies), clusters, server.key), alpha)

    def check(start: FederationInit, participants: int) -> None:
        if clusters > participants:
            raise FedkinError(
                f"cgpfl: {clusters} clusters of {participants} participants: lower method.clusters"
            )

    return Method(
        name="cgpfl",
        server=server,
        client=client,
        broadcast=broadcast,
        client_update=client_update,
        expected_update=lambda received, info: received,
        aggregation=EachClient(weights),
        server_update=server_update,
        personal_models=lambda received, own, data: {
            "personal": own["theta"],
            "global": received["parameters"],
        },
        server_metrics=server_metrics,
        check=check,
        newcomer_placements=lambda state, newcomer, info: in_each_cluster(state, state["models"]),
    )


def largest(state: Tree) -> int:
    """The cluster with the most members; the first of equals, as before any round.

    Args:
        state: Of the server.

    Returns:
        Its number.
    """
    known = state["cluster"][state["cluster"] != NOT_HEARD]
    return int(torch.bincount(known, minlength=count_of(state["models"])).argmax())


def uploads(replies: Mapping[int, Reply]) -> Tensor:
    """The uploaded models ω_{i,R} as rows [participants, d], in client order.

    Args:
        replies: Of one round.

    Returns:
        Running statistics are left out.
    """
    return torch.stack([flat(reply.message["parameters"]) for reply in replies.values()])


def regroup(state: Tree, replies: Mapping[int, Reply], found: Clusters, alpha: float) -> Tree:
    """ω_k ← (1−α) ω_k + α · mean of the members of the new cluster that is matched to k
    (line 14).

    Args:
        state: Of the server: models [K, …] by name, and the cluster of each client.
        replies: Of one round, with the weights of the mean.
        found: The new clusters of the uploads.
        alpha: α, above 0.

    Returns:
        The state with new models, new clusters, and the share that stayed of the clients that were
        in a cluster before.
    """
    models, cluster = state["models"], state["cluster"].clone()
    count = count_of(models)
    labels = found.labels.tolist()
    used = sorted(set(labels))
    old = torch.stack([flat(row(models, k)) for k in range(count)])
    places = dict(zip(used, match(found.centroids[used], old), strict=True))
    renewed = [row(models, k) for k in range(count)]
    means = {label: RunningMean() for label in used}
    for reply, label in zip(replies.values(), labels, strict=True):  # each is read once
        means[label].add(reply.message["parameters"], reply.weight)
    for label, place in places.items():
        renewed[place] = mix(renewed[place], means[label].mean(), alpha)
    before = cluster.clone()
    for client, label in zip(replies, labels, strict=True):
        cluster[client] = places[label]
    stayed = [bool(before[k] == cluster[k]) for k in replies if before[k] != NOT_HEARD]
    stability = sum(stayed) / len(stayed) if stayed else 1.0
    return {**state, "models": stack(renewed), "cluster": cluster, "stability": stability}


def server_metrics(state: Tree) -> dict[str, dict[int, float]]:
    """Who is in which cluster, the share that stayed, and the mean distance between
    cluster models.
    """
    models = state["models"]
    count = count_of(models)
    rows = torch.stack([flat(row(models, k)) for k in range(count)])
    apart = float(torch.pdist(rows.double()).mean()) if count > 1 else 0.0
    return {
        "cluster": clusters_of(state),
        "stability": {-1: state["stability"]},
        "clusters": {-1: count},
        "distance": {-1: apart},
    }


def widen(state: Tree, count: int) -> Tree:
    """The state with ``count`` copies of its one model: CGPFL-Heur's start once it knows K.

    Args:
        state: Of the server, with one model.
        count: K.

    Returns:
        Models [K, …] by name.
    """
    return {
        **state,
        "models": map_tree(lambda x: x.expand(count, *x.shape[1:]).clone(), state["models"]),
    }
