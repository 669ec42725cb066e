"""FedFomo (Zhang, Sapra, Fidler, Yeung & Alvarez, 2021): each client weighs other clients' models
on its own data.
"""

import math
from collections.abc import Mapping

import torch
from torch import Tensor

from fedkin.core.aggregation import Reply
from fedkin.core.errors import FedkinError
from fedkin.core.hyperparameters import Count, Fraction, declared
from fedkin.core.method import (
    ClientContext,
    ClientInfo,
    FederationInit,
    Method,
    Needs,
    ServerContext,
)
from fedkin.core.ops import scan, sgd_step
from fedkin.core.tree import Params, Tree, dtype_of, map_tree, sq_dist, weighted_mean
from fedkin.methods.parts.fedfomo.candidates import candidates_of, most_helpful, with_gains
from fedkin.methods.parts.fedfomo.pairs import no_pairs, rows_of

__all__ = ["fedfomo"]


@declared
def fedfomo(*, lr: float, candidates: Count = 5, epsilon: Fraction = 0.3) -> Method:
    """FedFomo: θ_i ← θ̄_i + Σ_j w_j (θ_j − θ̄_i), then local training. θ̄_i is the client's model
    from before its last training (θ_i at t − 1); the candidates j are the models sent to it and the
    one that it trained itself.

    w_j is the gain (L_i(θ̄_i) − L_i(θ_j)) / ‖θ_j − θ̄_i‖ on the client's validation data, cut off
    at 0 and normalised. The server adds the gains by others to row i of an affinity matrix and
    sends the client, next time, models of high affinity.

    Readings: where nothing gains the client goes back to θ̄_i, as the sum says (so does the
    authors' code). As the weights sum to 1, the new θ_i is the weighted mean of the candidates that
    gain. Affinities add up the gains as measured, negative ones too, so a model that hurt is not
    tried again soon. Equal affinities (all of those never tried) are ordered at random. ε is
    constant. A client that never trained is nobody's candidate. The server knows whom it sent to
    whom: no numbers are sent. It keeps gains and weights of the pairs that it tried, not a matrix.

    Deviations: the authors' code divides a client's gains by their sum before it adds them up. It
    measures distance in ‖·‖₁ of all parameters, and has a weight decay of 1e-4. PFLlib keeps the
    trained model where nothing gains.

    Args:
        lr: Learning rate of local SGD.
        candidates: n, models sent to a client, fewer while fewer others have trained, none in the
            first round.
        epsilon: ε in [0, 1], the chance that a place among them goes to a client drawn at random.
    """

    def server(start: FederationInit) -> Tree:
        count, initial = len(start.clients), start.only()
        nothing = no_pairs(dtype_of(initial))
        return {
            "models": (initial,) * count,
            "trained": torch.zeros(count, dtype=torch.bool),
            "affinity": nothing,
            "weights": nothing,
            "candidates": (torch.zeros(0, dtype=torch.int64),) * count,
        }

    def client(initial: Params, info: ClientInfo) -> Tree:
        return {"parameters": initial, "before": initial}

    def broadcast(state: Tree, client: int) -> Tree:
        models = state["models"]
        # the first message holds no model: ``like``, of zero rows, tells what one looks like and
        # counts nothing
        like = map_tree(lambda x: x.new_empty((0, *x.shape)), models[client])
        return {
            "parameters": {
                "models": tuple(models[j] for j in state["candidates"][client].tolist()),
                "like": like,
            }
        }

    def expected_update(received: Tree, info: ClientInfo) -> Tree:
        sent, like = received["parameters"]["models"], received["parameters"]["like"]
        return {
            "parameters": map_tree(lambda x: x.new_empty(x.shape[1:]), like),
            "coefficients": torch.empty(len(sent) + 1, dtype=dtype_of(like)),
        }

    def client_update(received: Tree, own: Tree, data: ClientContext) -> tuple[Tree, Tree]:
        before, tried = own["before"], (*received["parameters"]["models"], own["parameters"])
        gain = gains(before, tried, data)
        if bool((gain > 0).any()):
            before = weighted_mean(tried, gain.clamp_min(0).tolist())  # θ̄_i + Σ_j w_j (θ_j − θ̄_i)
        theta = scan(sgd_step, before, data.batches(), lr * data.decay)
        return {"parameters": theta, "before": before}, {"parameters": theta, "coefficients": gain}

    def server_update(state: Tree, replies: Mapping[int, Reply], server: ServerContext) -> Tree:
        models, trained = list(state["models"]), state["trained"].clone()
        for i, reply in replies.items():
            models[i], trained[i] = reply.message["parameters"], True
        told = {i: reply.message["coefficients"] for i, reply in replies.items()}
        after = with_gains({**state, "models": tuple(models), "trained": trained}, told)
        return {**after, "candidates": tuple(invited(after, i, server) for i in range(len(models)))}

    def invited(state: Tree, client: int, server: ServerContext) -> Tensor:
        return candidates_of(state, client, candidates, epsilon, server.key)

    def newcomer_placements(state: Tree, newcomer: int, info: ClientInfo) -> tuple[Tree, ...]:
        return (
            {
                **state,
                "models": (*state["models"], state["models"][0]),  # never sent: nobody else works
                "trained": torch.cat([state["trained"], torch.tensor([False])]),
                "candidates": (*state["candidates"], most_helpful(state, candidates)),
            },
        )

    def update_newcomer(state: Tree, newcomer: int, reply: Reply, server: ServerContext) -> Tree:
        after = with_gains(state, {newcomer: reply.message["coefficients"]})
        others = state["candidates"][:newcomer]
        return {**after, "candidates": (*others, invited(after, newcomer, server))}

    def check(start: FederationInit, participants: int) -> None:
        if candidates >= len(start.clients):
            others = len(start.clients) - 1
            raise FedkinError(
                f"fedfomo: {candidates} candidates, but a client has {others} others: "
                "lower method.candidates"
            )

    return Method(
        name="fedfomo",
        server=server,
        client=client,
        broadcast=broadcast,
        client_update=client_update,
        expected_update=expected_update,
        server_update=server_update,
        personal_models=lambda received, own, data: {"personal": own["parameters"]},
        newcomer_placements=newcomer_placements,
        update_newcomer=update_newcomer,
        server_metrics=server_metrics,
        check=check,
        needs=Needs(validation=True),
    )


def server_metrics(state: Tree) -> dict[str, dict[int, dict[int, float]]]:
    """Each client's last weights: {other: weight}, of those above 0."""
    known = rows_of(state["weights"])
    return {"weights": {client: known.get(client, {}) for client in range(len(state["models"]))}}


def gains(before: Params, tried: tuple[Params, ...], data: ClientContext) -> Tensor:
    """(L_i(θ̄_i) − L_i(θ_j)) / ‖θ_j − θ̄_i‖ for every candidate. 0 for one that equals θ̄_i, and
    for one whose loss here is no number: a client is not lost by another one's model that fails.
    Where that of θ̄_i is none either, 1 for every candidate that has one: it leads out of there.
    """

    def loss(w: Params) -> float:
        return data.score(w, "val")[0]

    here, losses, dtype = loss(before), [loss(theta) for theta in tried], dtype_of(before)
    if not math.isfinite(here):
        return torch.tensor([math.isfinite(there) for there in losses]).to(dtype)
    distances = [float(sq_dist(theta, before)) ** 0.5 for theta in tried]
    gain = [
        (here - there) / distance if distance else 0.0
        for there, distance in zip(losses, distances, strict=True)
    ]
    return torch.tensor(gain, dtype=dtype).nan_to_num(0, 0, 0)
