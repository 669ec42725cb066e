"""PPFL: canonical models × membership vectors. Each client mixes K shared canonical models by its
own c_i.

min over θ_com, θ_1…θ_K, C of Σ p_i f_i(θ_com, {θ_k}, c_i) + λ Cᵀ L C: Algorithm 1 (random block)
and 3 (alternating).
"""

from collections.abc import Mapping, Sequence
from typing import Literal

import torch
from torch import Tensor

from fedkin.core.aggregation import Mean, Reply, WeightedSum
from fedkin.core.errors import FedkinError
from fedkin.core.hyperparameters import Count, Layers, NotNegative, Part, declared
from fedkin.core.method import (
    ClientContext,
    ClientInfo,
    FederationInit,
    Method,
    Needs,
    ServerContext,
)
from fedkin.core.model import Batch, Model
from fedkin.core.ops import descend, scan
from fedkin.core.rng import Key
from fedkin.core.tree import Params, Tree, dtype_of
from fedkin.methods.parts.affinity import edges, laplacian_of
from fedkin.methods.parts.ppfl.canonical_models import CanonicalModels
from fedkin.methods.parts.ppfl.memberships import (
    even,
    introduced,
    renewed,
    row_of_lc,
    with_newcomer,
)
from fedkin.methods.parts.ppfl.mirror_steps import MirrorSteps

__all__ = ["MEMBERSHIP", "THETA", "ppfl"]

THETA, MEMBERSHIP = 0, 1  # the blocks of Algorithm 1
KINDS = "parameters", "coefficients"  # as what they are sent


@declared
def ppfl(
    *,
    lr: float,
    models: Count = 4,
    structure: Literal[1, 2] = 1,
    schedule: Literal["alternate", "random"] = "alternate",
    canonical: Layers = "all",
    lam: NotNegative = 1e-5,
    membership_lr: NotNegative = 0.5,
    membership_steps: Literal["full", "batches"] | Count = "full",
    membership_scale: Literal["client", "paper"] = "client",
    affinity: Literal["label_cosine", "none"] | Sequence[Sequence[float]] = "label_cosine",
    weights: Literal["samples", "uniform"] = "samples",
    theta_share: Part = 0.5,
    mixing: Literal["means", "logits"] = "means",
) -> Method:
    """PPFL1 (structure 1: outputs are mixed) and PPFL2 (structure 2: parameters are mixed).

    Readings: canonical models start from K different draws (equal ones could never separate); the
    client doubles the λ(LC)_i that it receives, as eq. 25 says; under partial participation θ is
    averaged over the participants. A newcomer fits its membership with θ as it is, and resembles
    nobody.
    Deviations: Algorithm 2 moves c by one stochastic gradient, ours by that of all training data.
    The authors' scripts move c by c ∘ exp(exp(−ηg)) where eq. 24 has c ∘ exp(−ηg).
    Their penalty on c is λ · diag(row sums of W) C, ours 2λ(D − W)C. They mix after every linear
    layer, which is structure 2. They move θ before c: the same sequence as Algorithm 3's, half a
    round apart. Their momentum of θ outlasts the round: [train] state = "kept".

    Args:
        lr: The step of one local SGD step on θ (the paper's η/E).
        models: K, canonical models.
        structure: 1 mixes the outputs of the canonical models, 2 their parameters.
        schedule: "alternate": c, then θ, in every round (Algorithm 3); "random": one of them, drawn
            anew each round.
        canonical: Which layers are canonical, by name: "all", "last", "first", or prefixes of
            parameter names ("3." in dnn); the others are shared.
        lam: λ of the Laplacian; 0 leaves memberships free.
        membership_lr: η of the mirror step on c.
        membership_steps: One step a round with the full gradient (Algorithm 3), a number: so many
            of them, or one a mini-batch over the round's batches (the authors' scripts); λ(LC)_i
            stays as received meanwhile.
        membership_scale: "client" uses ∇f_i; "paper" p_i ∇f_i, which with many clients hardly moves
            c.
        affinity: W, from the label histograms that clients report once, none, or a matrix [clients,
            clients], symmetric and without negative numbers.
        weights: "samples" or "uniform": the weights p_i; the authors' scripts have "uniform".
        theta_share: ρ of the θ block in schedule "random".
        mixing: What structure 1 mixes of generalized linear models (family bernoulli, gaussian,
            poisson): "means" (eq. 11) or "logits" (the authors' scripts, and then structures 1 and
            2 of a linear model are one); classification mixes logits.
    """
    if not isinstance(affinity, str):
        edges(affinity, "method.affinity of ppfl")
    f = CanonicalModels(canonical, structure, mixing)
    mirror = MirrorSteps(f, membership_steps)

    def server(start: FederationInit) -> Tree:
        theta = f.stacked(start.only(), [start.draw(k) for k in range(models)])
        memberships = even(len(start.clients), models, dtype_of(theta))
        return {"theta": theta, **memberships, "block": THETA}

    def client(initial: Params, info: ClientInfo) -> Tree:
        return {"membership": torch.full((models,), 1 / models, dtype=dtype_of(initial))}

    def broadcast(state: Tree, client: int) -> Tree:
        return {
            "parameters": state["theta"],
            "coefficients": {
                "pull": lam * row_of_lc(state, client),  # λ(LC)_i
                "membership": state["memberships"][client],
            },
            "control": {"block": state["block"], "share": float(state["shares"][client])},
        }

    def client_update(received: Tree, own: Tree, data: ClientContext) -> tuple[Tree, Tree]:
        theta, c = received["parameters"], received["coefficients"]["membership"]
        if MEMBERSHIP in blocks(received):
            p = received["control"]["share"] if membership_scale == "paper" else 1.0
            pull = received["coefficients"]["pull"]
            c = mirror.moved(c, theta, p, pull, membership_lr * data.decay, data)
        if THETA in blocks(received):
            theta = scan(theta_step, theta, data.batches(), c, lr * data.decay)
        return {"membership": c}, upload(received, theta, c)

    def server_update(state: Tree, sent: Mean, server: ServerContext) -> Tree:
        theta = sent.mean.get("parameters", state["theta"])  # eq. 19
        moved = {i: own["coefficients"] for i, own in sent.each.items() if "coefficients" in own}
        return with_next_block(renewed({**state, "theta": theta}, moved), server.key)

    def with_next_block(state: Tree, key: Key) -> Tree:
        """The block of the next round (Algorithm 1, line 3)."""
        theta_next = schedule == "alternate" or key.numpy("block").random() < theta_share
        return {**state, "block": THETA if theta_next else MEMBERSHIP}

    def blocks(received: Tree) -> tuple[int, ...]:
        """What moves in a round: both blocks (Algorithm 3), or the one that was drawn."""
        return (THETA, MEMBERSHIP) if schedule == "alternate" else (received["control"]["block"],)

    def upload(received: Tree, theta: Params, c: Tensor) -> Tree:
        both = {"parameters": theta, "coefficients": c}
        return {KINDS[block]: both[KINDS[block]] for block in blocks(received)}

    def theta_step(model: Model, theta: Params, batch: Batch, c: Tensor, rate: Tensor) -> Params:
        return descend(theta, f.theta_gradient(theta, model, c, batch), rate)

    def expected_setup(state: Tree, info: ClientInfo) -> Tree:
        if affinity == "label_cosine":
            return {"coefficients": info.histogram}
        return {"control": {"samples": info.samples}}

    def setup_update(state: Tree, replies: Mapping[int, Reply], server: ServerContext) -> Tree:
        laplacian = laplacian_of(affinity, replies, len(state["memberships"]))
        p = {i: reply.weight if weights == "samples" else 1.0 for i, reply in replies.items()}
        return with_next_block(introduced(state, laplacian, p), server.key)

    def newcomer_placements(state: Tree, newcomer: int, info: ClientInfo) -> tuple[Tree, ...]:
        return ({**with_newcomer(state), "block": MEMBERSHIP},)

    def update_newcomer(state: Tree, newcomer: int, reply: Reply, server: ServerContext) -> Tree:
        return renewed(state, {newcomer: reply.message["coefficients"]})

    def check(start: FederationInit, participants: int) -> None:
        count = len(start.clients)
        if not isinstance(affinity, str) and len(affinity) != count:
            raise FedkinError(f"ppfl: affinity must be a matrix of {count} × {count}")
        if affinity == "label_cosine" and start.classes == 0:
            raise FedkinError(
                "ppfl: number labels have no histogram: set method.affinity to none, or to a matrix"
            )

    return Method(
        name="ppfl",
        server=server,
        client=client,
        broadcast=broadcast,
        client_update=client_update,
        expected_update=lambda received, info: upload(
            received, received["parameters"], received["coefficients"]["membership"]
        ),
        aggregation=WeightedSum(weights),
        server_update=server_update,
        personal_models=lambda received, own, data: {
            "personal": {
                "theta": received["parameters"],
                "membership": received["coefficients"]["membership"],
            }
        },
        predict=f.predict,
        setup_message=lambda own, data: expected_setup(None, data.info),
        expected_setup=expected_setup,
        setup_update=setup_update,
        server_metrics=lambda state: {"membership": dict(enumerate(state["memberships"].tolist()))},
        check=check,
        newcomer_placements=newcomer_placements,
        update_newcomer=update_newcomer,
        needs=Needs(introduction="everyone"),
    )
