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
from fedkin.core.errors import FedkinError, unknown
from fedkin.core.hyperparameters import Count, NotNegative, Part, declared
from fedkin.core.layers import select
from fedkin.core.method import (
    ClientContext,
    ClientInfo,
    FederationInit,
    Method,
    Needs,
    ServerContext,
)
from fedkin.core.model import Batch, Model
from fedkin.core.ops import descend, gradient, scan, simplex_step, slope
from fedkin.core.optimizers import PLAIN
from fedkin.core.rng import Key
from fedkin.core.tree import Params, Tree, dtype_of, is_buffer
from fedkin.methods.parts.affinity import (
    edges,
    laplacian_of,
    no_laplacian,
    pull_of,
    summed,
    with_one_more,
)
from fedkin.methods.parts.mixing import (
    apart,
    mixed_logits,
    mixed_outputs,
    mixed_parameters,
    prediction,
    together,
)

THETA, MEMBERSHIP = 0, 1  # the blocks of Algorithm 1


@declared
def ppfl(
    *,
    lr: float,
    models: Count = 4,
    structure: Literal[1, 2] = 1,
    schedule: Literal["alternate", "random"] = "alternate",
    canonical: str | Sequence[str] = "all",
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
    outputs = mixed_outputs if mixing == "means" else mixed_logits
    mixed = outputs if structure == 1 else mixed_parameters

    def loss(parts: Params, model: Model, c: Tensor, batch: Batch) -> Tensor:
        return mixed(model, parts, c, batch.x, batch.y, model.train_outputs) @ batch.weight

    def split(theta: Params) -> frozenset[str]:
        """The names of the canonical parameters: running statistics are shared."""
        return frozenset(
            name for name in select(theta, canonical, "canonical layer") if not is_buffer(name)
        )

    def parts_of(theta: Params) -> Params:
        """What gradients are taken at."""
        return apart(theta, split) if structure == 1 else theta

    def theta_step(model: Model, theta: Params, batch: Batch, c: Tensor, rate: Tensor) -> Params:
        g = gradient(loss)(parts_of(theta), model, c, batch)
        return descend(theta, together(g, theta), rate)

    def of_membership(own: Params, model: Model, theta: Params, batch: Batch) -> Tensor:
        return loss(parts_of(theta), model, own["c"], batch)

    def membership_step(
        model: Model,
        c: Tensor,
        batch: Batch,
        theta: Params,
        rate: Tensor,
        share: Tensor,
        pull: Tensor,
    ) -> Tensor:
        g = gradient(of_membership)({"c": c}, model, theta, batch)["c"]
        return simplex_step(c, share * g + 2 * pull, rate)

    def full_slope(theta: Params, c: Tensor, data: ClientContext) -> Tensor:
        """∇_c f_i(c; θ) over all training data."""
        result: Tensor = slope(
            lambda own, batch: loss(parts_of(theta), data.model, own, batch),
            c,
            data.whole("train"),
        )
        return result

    def server(start: FederationInit) -> Tree:
        drawn = [start.draw(k) for k in range(models)]
        names = split(start.only())
        if not names:
            raise unknown(
                "canonical layer", str(canonical), [n for n in start.only() if not is_buffer(n)]
            )
        theta = {
            n: torch.stack([w[n] for w in drawn]) if n in names else w0
            for n, w0 in start.only().items()
        }
        count = len(start.clients)
        even = torch.full((count, models), 1 / models, dtype=dtype_of(theta))
        nothing = no_laplacian(count)
        return {
            "theta": theta,
            "memberships": even,
            "laplacian": nothing,
            "sums": summed(nothing, even),
            "shares": torch.ones(count),
            "block": THETA,
        }

    def client(initial: Params, info: ClientInfo) -> Tree:
        return {"membership": torch.full((models,), 1 / models, dtype=dtype_of(initial))}

    def expected_setup(state: Tree, info: ClientInfo) -> Tree:
        return (
            {"coefficients": info.histogram}
            if affinity == "label_cosine"
            else {"control": {"samples": info.samples}}
        )

    def mass_of(replies: Mapping[int, Reply]) -> list[float]:
        """p_i before it is normalised: by samples or uniform, for θ and for the "paper" scale of c
        alike.
        """
        return [reply.weight if weights == "samples" else 1.0 for reply in replies.values()]

    def setup_update(state: Tree, replies: Mapping[int, Reply], server: ServerContext) -> Tree:
        count = len(state["memberships"])
        shares = torch.zeros(count, dtype=torch.float64)
        shares[list(replies)] = torch.tensor(mass_of(replies), dtype=torch.float64)
        laplacian = laplacian_of(affinity, replies, count)
        known = {**state, "laplacian": laplacian, "shares": shares / shares.sum()}
        return _drawn(with_memberships(known, state["memberships"]), server.key)

    def with_memberships(state: Tree, c: Tensor) -> Tree:
        return {**state, "memberships": c, "sums": summed(state["laplacian"], c)}

    def _drawn(state: Tree, key: Key) -> Tree:
        """The block of the next round (Algorithm 1, line 3)."""
        theta_next = schedule == "alternate" or key.numpy("block").random() < theta_share
        return {**state, "block": THETA if theta_next else MEMBERSHIP}

    def broadcast(state: Tree, client: int) -> Tree:
        c = state["memberships"]
        pull = lam * pull_of(state["laplacian"], state["sums"], client, c[client])  # λ(LC)_i
        control = {"block": state["block"], "share": float(state["shares"][client])}
        return {
            "parameters": state["theta"],
            "coefficients": {"pull": pull, "membership": c[client]},
            "control": control,
        }

    def alternate(received: Tree, own: Tree, data: ClientContext) -> tuple[Tree, Tree]:
        theta, c = received["parameters"], received["coefficients"]["membership"]
        c = moved(c, theta, received, data)
        theta = scan(theta_step, theta, data.batches(), c, lr * data.decay)
        return {"membership": c}, {"parameters": theta, "coefficients": c}

    def moved(c: Tensor, theta: Params, received: Tree, data: ClientContext) -> Tensor:
        pull, rate = received["coefficients"]["pull"], membership_lr * data.decay
        share = received["control"]["share"] if membership_scale == "paper" else 1.0
        if membership_steps == "batches":
            batches = data.batches(purpose="membership")._replace(optimizer=PLAIN)
            result: Tensor = scan(membership_step, c, batches, theta, rate, share, pull)
            return result
        for _ in range(1 if membership_steps == "full" else membership_steps):
            c = simplex_step(c, share * full_slope(theta, c, data) + 2 * pull, rate)
        return c

    def one_block(received: Tree, own: Tree, data: ClientContext) -> tuple[Tree, Tree]:
        theta, c = received["parameters"], received["coefficients"]["membership"]
        if received["control"]["block"] == THETA:
            return {"membership": c}, {
                "parameters": scan(theta_step, theta, data.batches(), c, lr * data.decay)
            }
        c = moved(c, theta, received, data)
        return {"membership": c}, {"coefficients": c}

    def server_update(state: Tree, sent: Mean, server: ServerContext) -> Tree:
        theta = sent.mean.get("parameters", state["theta"])
        memberships = state["memberships"].clone()
        for client, rest in sent.each.items():
            memberships[client] = rest.get("coefficients", memberships[client])
        return _drawn(with_memberships({**state, "theta": theta}, memberships), server.key)

    def newcomer_placements(state: Tree, newcomer: int, info: ClientInfo) -> tuple[Tree, ...]:
        c, shares = state["memberships"], state["shares"]
        wider = {
            **state,
            "laplacian": with_one_more(state["laplacian"]),
            "shares": torch.cat([shares, shares.mean()[None]]),
            "block": MEMBERSHIP,
        }
        return (with_memberships(wider, torch.cat([c, c.new_full((1, models), 1 / models)])),)

    def update_newcomer(state: Tree, newcomer: int, reply: Reply, server: ServerContext) -> Tree:
        c = state["memberships"].clone()
        c[newcomer] = reply.message["coefficients"]
        return with_memberships(state, c)

    def expected_update(received: Tree, info: ClientInfo) -> Tree:
        both = {
            "parameters": received["parameters"],
            "coefficients": received["coefficients"]["membership"],
        }
        if schedule == "alternate":
            return both
        kind = "parameters" if received["control"]["block"] == THETA else "coefficients"
        return {kind: both[kind]}

    def predict(model: Model, view: Tree, x: Tensor) -> Tensor:
        return prediction(model, view, x, structure, split, mixing)

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
        client_update=alternate if schedule == "alternate" else one_block,
        expected_update=expected_update,
        aggregation=WeightedSum(weights),
        server_update=server_update,
        personal_models=lambda received, own, data: {
            "personal": {
                "theta": received["parameters"],
                "membership": received["coefficients"]["membership"],
            }
        },
        predict=predict,
        setup_message=lambda own, data: expected_setup(None, data.info),
        expected_setup=expected_setup,
        setup_update=setup_update,
        server_metrics=lambda state: {"membership": dict(enumerate(state["memberships"].tolist()))},
        check=check,
        newcomer_placements=newcomer_placements,
        update_newcomer=update_newcomer,
        needs=Needs(introduction="everyone"),
    )
