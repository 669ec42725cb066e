"""COMET (journal) = PerFed-CKT (preprint): clustered co-distillation (Cho, Wang, Chirvolu & Joshi).

Clients of any architecture exchange only their predictions on a public set; the server clusters them, and each client
is drawn towards the centroid nearest to its own predictions. Algorithm 1 of both papers.
"""

from collections.abc import Mapping

import torch
from torch import Tensor

from fedkin.core.cluster import kmeans
from fedkin.core.errors import FedkinError
from fedkin.core.kit import descend, gradient, predictions, scan
from fedkin.core.method import Data, Info, Method, Needs, Reply, Server, Start, Target, public_set
from fedkin.core.model import Batch, Model
from fedkin.core.tree import Params, Tree


def _objective(w: Params, model: Model, private: Batch, x: Tensor, target: Tensor, lam: Tensor) -> Tensor:
    """Φ_k on mini-batches: f_k(w) + λ/b' Σ ‖s̄_k(x) − s(w, x)‖² (eq. 1, 2)."""
    apart = (target - model.probabilities(w, x)).square().sum(1).mean()
    return model.loss(w, private) + lam * apart


def _step(model: Model, w: Params, batch: tuple[Batch, tuple[Tensor, Tensor]], lr: Tensor, lam: Tensor) -> Params:
    private, (x, target) = batch
    return descend(w, gradient(_objective)(w, model, private, x, target, lam), lr)


def nearest(centroids: Tensor, own: Tensor) -> int:
    """The centroid [c, public, classes] at the least ℓ2 distance from a client's predictions (eq. 4)."""
    return int((centroids - own).square().sum((1, 2)).argmin())


def comet(*, lr: float, clusters: int = 3, lam: float = 2.0, public_batch: int = 128, starts: int = 1) -> Method:
    """COMET. The paper's best: lr 0.001, batch 64, 50 steps, public_batch 128, lam 2, clusters 2 to 4.

    lr: η of eq. 2. clusters: c, at most the participants of a round; 1 is plain co-distillation. lam: λ, the pull
    towards the centroid; 0 is local training. public_batch: b'. starts: k-means++ seedings, the best is kept.

    Reading: round 0 has no predictions, so the first participants send theirs before training (the Initialize line of
    Algorithm 1); the ledger shows that exchange as "setup". Private and public rows are drawn uniformly each step.
    A newcomer's first round is everybody's first one, towards predictions that tell nothing: a model that has learned
    nothing yet would choose its centroid by chance, and then be drawn to it.
    """
    if clusters < 1 or lam < 0 or public_batch < 1 or starts < 1:
        raise FedkinError("comet needs clusters, public_batch and starts of at least 1, and lam of at least 0")

    def server(start: Start) -> Tree:
        like = next(iter(next(iter(start.parameters.values())).values()))
        return {"centroids": torch.full((1, start.public, start.classes), 1 / start.classes, dtype=like.dtype)}

    def client(initial: Params, info: Info) -> Tree:
        return {"parameters": initial, "cluster": 0}

    def introduce(own: Tree, data: Data) -> Tree:
        return {"predictions": predictions(data.model, own["parameters"], public_set(data))}

    def local(down: Tree, own: Tree, data: Data) -> tuple[Tree, Tree]:
        w, public = own["parameters"], public_set(data)
        cluster = nearest(down["centroids"], predictions(data.model, w, public))
        target = down["centroids"][cluster]  # s̄_k, fixed during the round
        private = data.batches(draw="uniform")
        both = private.beside(data.rows((public, target), public_batch, private.steps, "public"))
        w = scan(_step, w, both, lr * data.decay, lam)
        return {"parameters": w, "cluster": cluster}, {"predictions": predictions(data.model, w, public)}

    def lesson(down: Tree, own: Tree, told: Tensor) -> Target:
        cluster = nearest(down["centroids"], told)
        return Target(down["centroids"][cluster], lam, public_batch, {"cluster": cluster})

    def merge(state: Tree, replies: Mapping[int, Reply], server: Server) -> Tree:
        received = torch.stack([reply.message["predictions"] for reply in replies.values()])
        return {"centroids": kmeans(received, clusters, server.key, starts).centroids}

    def seats(state: Tree, newcomer: int, info: Info) -> tuple[Tree, ...]:
        untrained = torch.full_like(state["centroids"][:1], 1 / info.classes)
        return ({"centroids": untrained, "settled": state["centroids"]},)

    def heed(state: Tree, newcomer: int, reply: Reply, server: Server) -> Tree:
        return {"centroids": state["settled"]} if "settled" in state else state

    def check(start: Start, participants: int) -> None:
        if clusters > participants:
            raise FedkinError(f"comet: {clusters} clusters of {participants} participants: lower method.clusters")

    return Method(
        name="comet",
        server=server,
        client=client,
        down=lambda state, client: {"centroids": state["centroids"]},
        local=local,
        expects=lambda down, info: {"predictions": down["centroids"][0]},
        merge=merge,
        personal=lambda down, own, data: {"personal": own["parameters"]},
        lesson=lesson,
        introduce=introduce,
        meet=merge,
        notes=lambda own: {"cluster": own["cluster"]},
        check=check,
        seats=seats,
        heed=heed,
        hyper={"lr": lr, "clusters": clusters, "lam": lam, "public_batch": public_batch, "starts": starts},
        needs=Needs(
            one_architecture=False, public="unlabeled", classes=True, sampling="size", introduction="participants"
        ),
    )
