"""COMET (journal) = PerFed-CKT (preprint): clustered co-distillation (Cho, Wang, Chirvolu & Joshi).

Clients of any architecture exchange only their predictions on a public set; the server clusters
them, and each client is drawn towards the centroid nearest to its own predictions. Algorithm 1 of
both papers.
"""

from collections.abc import Mapping
from typing import Literal

import torch
from torch import Tensor

from fedkin.core.aggregation import Reply
from fedkin.core.clustering import Clusters, kmeans
from fedkin.core.errors import FedkinError
from fedkin.core.hyperparameters import Count, NotNegative, declared
from fedkin.core.method import (
    ClientContext,
    ClientInfo,
    DistillationTarget,
    FederationInit,
    Method,
    Needs,
    ServerContext,
    public_set,
)
from fedkin.core.model import Batch, Model
from fedkin.core.ops import descend, gradient, predictions, scan
from fedkin.core.rng import Key
from fedkin.core.tree import Params, Tree, dtype_of
from fedkin.methods.parts.comet.pull import pull_of, spread
from fedkin.methods.parts.comet.silhouette import by_silhouette

__all__ = ["comet"]


def _objective(
    w: Params, model: Model, private: Batch, x: Tensor, target: Tensor, lam: Tensor
) -> Tensor:
    """Φ_k on mini-batches: f_k(w) + λ/b' Σ ‖s̄_k(x) − s(w, x)‖² (eq. 1, 2)."""
    distance = (target - model.probabilities(w, x)).square().sum(1).mean()
    return model.loss(w, private) + lam * distance


def _step(
    model: Model, w: Params, batch: tuple[Batch, tuple[Tensor, Tensor]], lr: Tensor, lam: Tensor
) -> Params:
    private, (x, target) = batch
    return descend(w, gradient(_objective)(w, model, private, x, target, lam), lr)


@declared
def comet(
    *,
    lr: float,
    clusters: Count | Literal["silhouette"] = 3,
    lam: NotNegative = 2.0,
    public_batch: Count = 128,
    starts: Count = 1,
    most_clusters: Count = 8,
    pull: Literal["equal", "distance"] = "equal",
) -> Method:
    """COMET. The paper's best: lr 0.001, batch 64, 50 steps, public_batch 128, lam 2, clusters 2 to
    4.

    Two choices that the papers leave open. clusters "silhouette": in each round the server takes
    the c of the highest mean silhouette of the predictions it clusters, up to most_clusters and
    half the participants, or 1 where they show no structure. pull "distance": λ_k falls with a
    client's squared distance from its centroid (``shrunk``); the server adds one number to its
    message, the mean of that over those whose predictions it clustered.

    Reading: round 0 has no predictions, so the first participants send theirs before training (the
    Initialize line of Algorithm 1); the ledger shows that exchange as "setup". Private and public
    rows are drawn uniformly each step. A newcomer's first round is everybody's first one, towards
    predictions that tell nothing: a model that has learned nothing yet would choose its centroid by
    chance, and then be drawn to it.

    Args:
        lr: η of eq. 2.
        clusters: c, at most the participants of a round; 1 is plain co-distillation. "silhouette"
            chooses c in each round.
        lam: λ, the pull towards the centroid; 0 is local training.
        public_batch: b', public rows of a step.
        starts: k-means++ seedings, of which the best is kept.
        most_clusters: The largest c that "silhouette" may choose.
        pull: "equal": λ for everybody; "distance": λ_k falls with a client's distance from its
            centroid.
    """
    told = ("cluster", "lam") if pull == "distance" else ("cluster",)

    def server(start: FederationInit) -> Tree:
        shape, dtype = (1, start.public, start.classes), dtype_of(start.parameters)
        return {"centroids": torch.full(shape, 1 / start.classes, dtype=dtype)}

    def client(initial: Params, info: ClientInfo) -> Tree:
        return {"parameters": initial, "cluster": 0, "lam": lam}

    def setup_message(own: Tree, data: ClientContext) -> Tree:
        return {"predictions": predictions(data.model, own["parameters"], public_set(data))}

    def server_update(state: Tree, replies: Mapping[int, Reply], server: ServerContext) -> Tree:
        s = torch.stack([reply.message["predictions"] for reply in replies.values()])
        clustered = c_means(s, server.key)
        return {"centroids": clustered.centroids, "spread": spread(clustered, s)}

    def c_means(s: Tensor, key: Key) -> Clusters:
        if clusters == "silhouette":
            return by_silhouette(s, most_clusters, key, starts)
        return kmeans(s, clusters, key, starts)

    def broadcast(state: Tree, client: int) -> Tree:
        if pull == "equal" or "spread" not in state:  # without predictions there is no distance
            return {"centroids": state["centroids"]}
        return {"centroids": state["centroids"], "control": {"spread": state["spread"]}}

    def client_update(received: Tree, own: Tree, data: ClientContext) -> tuple[Tree, Tree]:
        w, public = own["parameters"], public_set(data)
        drawn = pull_of(received, predictions(data.model, w, public), lam)
        private = data.batches(draw="uniform")
        shared = data.rows((public, drawn.centroid), public_batch, private.steps, "public")
        w = scan(_step, w, private.zip(shared), lr * data.decay, drawn.lam)
        return {"parameters": w, **drawn.kept}, {"predictions": predictions(data.model, w, public)}

    def distillation_target(received: Tree, own: Tree, sent: Tensor) -> DistillationTarget:
        drawn = pull_of(received, sent, lam)
        return DistillationTarget(drawn.centroid, drawn.lam, public_batch, drawn.kept)

    def newcomer_placements(state: Tree, newcomer: int, info: ClientInfo) -> tuple[Tree, ...]:
        untrained = torch.full_like(state["centroids"][:1], 1 / info.classes)
        return ({"centroids": untrained, "settled": state},)

    def update_newcomer(state: Tree, newcomer: int, reply: Reply, server: ServerContext) -> Tree:
        settled: Tree = state.get("settled", state)
        return settled

    def check(start: FederationInit, participants: int) -> None:
        if clusters != "silhouette" and clusters > participants:
            raise FedkinError(
                f"comet: {clusters} clusters of {participants} participants: lower method.clusters"
            )

    return Method(
        name="comet",
        server=server,
        client=client,
        broadcast=broadcast,
        client_update=client_update,
        expected_update=lambda received, info: {"predictions": received["centroids"][0]},
        server_update=server_update,
        personal_models=lambda received, own, data: {"personal": own["parameters"]},
        distillation_target=distillation_target,
        setup_message=setup_message,
        expected_setup=lambda state, info: {"predictions": state["centroids"][0]},
        setup_update=server_update,
        client_metrics=lambda own: {name: own[name] for name in told},
        server_metrics=lambda state: {"clusters": {-1: len(state["centroids"])}},
        check=check,
        newcomer_placements=newcomer_placements,
        update_newcomer=update_newcomer,
        needs=Needs(
            one_architecture=False,
            public="unlabeled",
            classes=True,
            sampling="size",
            introduction="participants",
        ),
    )
