"""KT-pFL (Zhang, Guo, Ma, Wang, Xu & Wu, 2021): each client imitates a team of its own, whose
weights are learned.

κ [clients, clients], rows on the simplex: client k's target on the public set is Σ_j κ_kj z_j.
"""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from fedkin.core.aggregation import EachClient, Reply
from fedkin.core.hyperparameters import Count, NotNegative, Positive, declared
from fedkin.core.method import ClientInfo, FederationInit, Method, ServerContext
from fedkin.core.tree import Tree, dtype_of
from fedkin.methods.parts.codistillation import codistil

__all__ = ["kt_pfl"]


@declared
def kt_pfl(
    *,
    lr: float,
    kappa_lr: NotNegative = 0.1,
    lam: NotNegative = 1.0,
    rho: NotNegative = 0.7,
    distill_steps: Count = 20,
    distill_lr: NotNegative | None = None,
    public_batch: Count = 128,
    temperature: Positive = 1.0,
) -> Method:
    """KT-pFL: after every round the server takes one gradient step on Σ_k λ KL(Σ_j κ_kj z_j ‖ z_k)
    + ρ ‖κ_k − 1/M‖².

    Readings: the KL is a mean over the public set and not weighted by p_k. κ stays on the simplex
    by Euclidean projection. A round is distil, train, predict, as the order of the paper cut where
    the message comes; the first one has no team. A client that did not take part stands in with its
    last predictions; one that never did is in no team (its coefficients wait at 1/M, the others of
    a row are divided by their sum) and joins with the mean.
    Deviations: the authors' code moves κ by the gradient of a mean squared distance, client after
    client, at a rate chosen from the gradient, through softmax(5κ). Its KL divides by rows times
    classes, so that its distillation has our rate divided by the number of classes.

    Args:
        lr: Learning rate of private training.
        kappa_lr: Step of κ; 0 keeps 1/M, plain co-distillation.
        lam: λ, the weight of the KL; 0 leaves κ at equal weights.
        rho: ρ, the pull towards equal weights (the authors' scripts: 0.7).
        distill_steps: Mini-batches of public_batch public rows with which a client imitates its
            team.
        distill_lr: Their learning rate; lr if not given, 0 is local training.
        public_batch: Public rows of a distillation step.
        temperature: T: soft predictions are softmax(logits / T), at the clients and in the loss
            (the authors' scripts: 10).
    """
    rate = lr if distill_lr is None else distill_lr

    def server(start: FederationInit) -> Tree:
        m, dtype = len(start.clients), dtype_of(start.parameters)
        return {
            "knowledge": torch.full((m, m), 1 / m, dtype=dtype),
            "predictions": torch.zeros((m, start.public, start.classes), dtype=dtype),
            "known": torch.zeros(m, dtype=torch.bool),
            "teams": torch.zeros((m, 0, start.classes), dtype=dtype),
        }

    def server_update(state: Tree, replies: Mapping[int, Reply], server: ServerContext) -> Tree:
        kappa, z, known = (state[name].clone() for name in ("knowledge", "predictions", "known"))
        for client, reply in replies.items():
            z[client], known[client] = reply.message["predictions"], True
        who = known.nonzero()[:, 0]
        share = len(who) / len(known)  # of every row's mass; the rest waits with those never seen
        among = kappa[who][:, who] / share
        kappa[who[:, None], who] = share * moved(among, z[who], z[who], server)
        teams = (kappa[:, who] / share @ z[who].flatten(1)).view_as(z)
        return {"knowledge": kappa, "predictions": z, "known": known, "teams": teams}

    def moved(kappa: Tensor, z: Tensor, own: Tensor, server: ServerContext) -> Tensor:
        """Rows of κ after one step: each weighs the predictions z for the client whose own ones are
        in its row.
        """
        slope = lam * disagreement(kappa, z, own) + 2 * rho * (kappa - 1 / len(z))
        return project(kappa - kappa_lr * server.decay * slope)

    def newcomer_placements(state: Tree, newcomer: int, info: ClientInfo) -> tuple[Tree, ...]:
        teams, z = state["teams"], state["predictions"][state["known"]]
        mean = z.mean(0, keepdim=True) if teams.shape[1] else teams[:1]
        row = state["known"].to(z.dtype)[None] / max(len(z), 1)
        return (
            {
                **state,
                "knowledge": torch.cat([state["knowledge"], row]),
                "teams": torch.cat([teams, mean]),
            },
        )

    def update_newcomer(state: Tree, newcomer: int, reply: Reply, server: ServerContext) -> Tree:
        kappa, teams, known = state["knowledge"].clone(), state["teams"].clone(), state["known"]
        z, row = state["predictions"][known], kappa[newcomer, known][None]
        row = moved(row, z, reply.message["predictions"][None], server)
        kappa[newcomer, known], teams[newcomer] = (
            row[0],
            (row @ z.flatten(1)).view_as(teams[newcomer]),
        )
        return {**state, "knowledge": kappa, "teams": teams}

    base = codistil(
        lr=lr,
        distill_lr=rate,
        distill_steps=distill_steps,
        public_batch=public_batch,
        temperature=temperature,
    )
    return base._replace(
        name="kt_pfl",
        server=server,
        broadcast=lambda state, client: {"predictions": state["teams"][client]},
        aggregation=EachClient(),
        server_update=server_update,
        newcomer_placements=newcomer_placements,
        update_newcomer=update_newcomer,
        server_metrics=server_metrics,
    )


def disagreement(kappa: Tensor, z: Tensor, own: Tensor) -> Tensor:
    """∂/∂κ_kj of the mean over public rows of KL(Σ_i κ_ki z_i ‖ own_k), less its constant 1:
    projection undoes it.
    """
    predictions = z.flatten(1)
    tiny = torch.finfo(z.dtype).tiny
    ratio = (kappa @ predictions).clamp_min(tiny).log() - own.flatten(1).clamp_min(tiny).log()
    return ratio @ predictions.T / z.shape[1]


def project(rows: Tensor) -> Tensor:
    """The nearest point of the unit simplex to each row [rows, n], in ℓ2."""
    rows = rows - rows.amax(1, keepdim=True)  # changes nothing but the rounding
    falling = rows.sort(dim=1, descending=True).values
    surplus = (falling.cumsum(1) - 1) / torch.arange(1, rows.shape[1] + 1, dtype=rows.dtype)
    support = (falling > surplus).sum(1, keepdim=True).clamp_min(1)  # 0 where a row is no number
    return (rows - surplus.gather(1, support - 1)).clamp_min(0)


def server_metrics(state: Tree) -> dict[str, dict[int, Any]]:
    """Every client's row of κ."""
    return {"knowledge": dict(enumerate(state["knowledge"].tolist()))}
