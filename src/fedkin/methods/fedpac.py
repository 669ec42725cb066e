"""FedPAC (Xu, Tong & Huang, 2023): features are drawn to everybody's class means, and the server
mixes each client's head from those that serve it. Algorithm 1.
"""

from collections.abc import Mapping

import torch

from fedkin.core.aggregation import EachClient, Reply, Weights
from fedkin.core.hyperparameters import Count, NotNegative, Positive, declared
from fedkin.core.method import ClientContext, FederationInit, Method, Needs, ServerContext
from fedkin.core.model import head_of
from fedkin.core.ops import scan
from fedkin.core.tree import Params, Tree, dtype_of, weighted_mean
from fedkin.methods.parts.alignment import aligned_step, best_mixtures, described, expected, merged
from fedkin.methods.parts.prototypes import prototypes
from fedkin.methods.parts.split_model import part_step

__all__ = ["fedpac"]


@declared
def fedpac(
    *,
    lr: float,
    lam: NotNegative = 1.0,
    head_epochs: Count = 1,
    personal_lr: Positive | None = None,
    weights: Weights = "samples",
) -> Method:
    """FedPAC: with θ received, client i trains its head φ_i, then θ on its loss and λ times the
    mean of ‖f(x) − c_y‖²/d; the server averages θ and the class means c, and φ_i ← Σ_j α_ij φ_j
    where α_i is least in Σ_j α_ij² V_j + ‖h_i − Σ_j α_ij h_j‖² over the simplex.

    Readings: h_i (class by class p_y times the mean of features) and V_i are of the received model
    on the client's training data, in evaluation mode; class means of the trained one. φ_i is mixed
    among a round's participants and kept by the server. A class without a mean yet pulls nothing.

    Deviations: the authors' code sets α below 0.001 to 0; here nothing is cut. Their script trains
    heads at a rate of their own, 0.1 beside 0.01 of θ.

    Args:
        lr: Learning rate of θ.
        lam: λ, the pull of features towards the class means; 0 leaves them free.
        head_epochs: Passes of φ_i over the client's data, before θ.
        personal_lr: Learning rate of φ_i; lr if not given.
        weights: "samples" or "uniform": the weights of the mean of θ.
    """
    rate = lr if personal_lr is None else personal_lr

    def server(start: FederationInit) -> Tree:
        w, (head,) = start.only(), start.heads.values()
        first = {name: w[name] for name in head.names}
        like = torch.zeros(start.classes, head.size, dtype=dtype_of(w))
        return {
            "parameters": {name: value for name, value in w.items() if name not in first},
            "initial": first,
            "heads": ({},) * len(start.clients),  # of those who took part; the others' is initial
            "centroids": like,
            "coefficients": like[:, 0].clone(),
        }

    def broadcast(state: Tree, client: int) -> Tree:
        w = {**state["parameters"], **(state["heads"][client] or state["initial"])}
        return {"parameters": w, **{name: state[name] for name in ("centroids", "coefficients")}}

    def client_update(received: Tree, own: Tree, data: ClientContext) -> tuple[Tree, Tree]:
        w, names = received["parameters"], head_of(data.model).names
        reference, variance = described(data, w)
        head = {name: w[name] for name in names}
        body = {name: value for name, value in w.items() if name not in head}
        batches = data.batches(purpose="head", epochs=head_epochs)
        head = scan(part_step, head, batches, body, rate * data.decay)
        there = received["centroids"], received["coefficients"]
        body = scan(aligned_step, body, data.batches(), head, *there, lam, lr * data.decay)
        trained = {name: head[name] if name in head else body[name] for name in w}
        means, counts = prototypes(data, trained)
        return own, {
            "parameters": trained,
            "centroids": {"means": means, "reference": reference},
            "coefficients": {"counts": counts, "variance": variance},
        }

    return Method(
        name="fedpac",
        server=server,
        client=lambda initial, info: {},
        broadcast=broadcast,
        client_update=client_update,
        expected_update=expected,
        aggregation=EachClient(weights),
        server_update=server_update,
        personal_models=lambda received, own, data: {"personal": received["parameters"]},
        newcomer_placements=lambda state, newcomer, info: (
            {**state, "heads": (*state["heads"], {})},
        ),
        needs=Needs(classes=True, head=True),
    )


def server_update(state: Tree, replies: Mapping[int, Reply], server: ServerContext) -> Tree:
    """θ ← Σ n_i θ_i / Σ n_i; c_j ← Σ n_ij c_ij / Σ n_ij; φ_i ← Σ_j α_ij φ_j."""
    messages = [reply.message for reply in replies.values()]
    bodies = ({name: up["parameters"][name] for name in state["parameters"]} for up in messages)
    theirs: list[Params] = [
        {name: up["parameters"][name] for name in state["initial"]} for up in messages
    ]
    heads = list(state["heads"])
    for client, shares in zip(replies, best_mixtures(messages), strict=True):
        heads[client] = weighted_mean(theirs, shares)
    return {
        **state,
        "parameters": weighted_mean(bodies, [reply.weight for reply in replies.values()]),
        "heads": tuple(heads),
        **merged(messages, state),
    }
