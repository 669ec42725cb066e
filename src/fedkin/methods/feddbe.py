"""FedDBE, which is FedAvg with DBE (Zhang, Hua, Cao, Wang, Song, Xue, Ma & Guan, 2023): each client
keeps the bias of its features in a memory, and the features' mean is drawn to everybody's.
"""

from collections.abc import Mapping

import torch

from fedkin.core.aggregation import Mean, Reply, Weights
from fedkin.core.hyperparameters import NotNegative, Part, declared
from fedkin.core.method import (
    ClientContext,
    FederationInit,
    Method,
    Needs,
    ServerContext,
)
from fedkin.core.model import head_of
from fedkin.core.ops import scan, sgd_step
from fedkin.core.tree import Params, Tree, dtype_of, weighted_mean
from fedkin.methods.fedavg import fedavg
from fedkin.methods.parts.bias_memory import MEMORY, bias, regularized_step
from fedkin.methods.parts.checks.linear_head import check_linear_head


@declared
def feddbe(
    *, lr: float, kappa: NotNegative = 1.0, momentum: Part = 1.0, weights: Weights = "samples"
) -> Method:
    """FedDBE: min ℓ(g(f(x) + z̄_i^p), y) + κ MSE(z̄_i^g, z̄^g): the memory z̄_i^p stays at the
    client and is trained with f and g, which are averaged.

    Readings: z̄^g is made before the first round and stays: every client trains the initial model
    for one epoch and sends the mean of its features, in evaluation mode; the mean over clients is
    by samples. z̄_i^g begins every round at 0, as in the authors' code. MSE is the mean over the
    numbers of a row. The head is linear, so that the personal model is one whose head has the bias
    g(z̄_i^p). A new client's memory begins at 0.

    Deviations: κ is 1 by default, where the paper takes 50 for its convolutional network. The
    authors' code halves MSE. In it z̄^g is the mean of the moving averages that the first epoch
    kept: with μ = 1 those of each client's last mini-batch.

    Args:
        lr: Learning rate of f, g and z̄_i^p.
        kappa: κ, the pull of the mean z̄_i^g of the features to the consensus z̄^g; the paper takes
            50 for its convolutional network.
        momentum: μ, z̄_i^g ← (1 − μ) z̄_i^g + μ mean f(x) at each mini-batch, of which only the
            second term has a slope.
        weights: "samples" or "uniform": the weights of the mean of models.
    """

    def server(start: FederationInit) -> Tree:
        w, (head,) = start.only(), start.heads.values()
        return {"parameters": w, "centroids": torch.zeros(head.size, dtype=dtype_of(w))}

    def setup_message(own: Tree, data: ClientContext) -> Tree:
        batches = data.batches(purpose="first", epochs=1)
        w = scan(sgd_step, data.model.initial, batches, lr * data.decay)
        with torch.inference_mode():
            parts = [
                batch.weight @ head_of(data.model).features(w, batch.x)
                for batch in data.whole("train")
            ]
        return {"centroids": torch.stack(parts).sum(0)}

    def setup_update(state: Tree, replies: Mapping[int, Reply], server: ServerContext) -> Tree:
        means = (reply.message["centroids"] for reply in replies.values())
        return {**state, "centroids": weighted_mean(means, [r.weight for r in replies.values()])}

    def client_update(received: Tree, own: Tree, data: ClientContext) -> tuple[Tree, Tree]:
        goal = received["centroids"]
        both = {**received["parameters"], MEMORY: own.get(MEMORY, torch.zeros_like(goal))}
        start = both, torch.zeros_like(goal)
        rates = kappa, momentum, lr * data.decay
        both, _ = scan(regularized_step, start, data.batches(), goal, *rates)
        memory = both.pop(MEMORY)
        return {MEMORY: memory}, {"parameters": both}

    def server_update(state: Tree, sent: Mean, server: ServerContext) -> Tree:
        return {**state, "parameters": sent.mean["parameters"]}

    def personal_models(received: Tree, own: Tree, data: ClientContext) -> dict[str, Params]:
        w, head = received["parameters"], head_of(data.model)
        with torch.inference_mode():
            mine = {**w, bias(w, head): head.scores(w, own[MEMORY][None])[0]} if own else w
        return {"personal": mine, "global": w}

    def check(start: FederationInit, participants: int) -> None:
        check_linear_head(
            "feddbe adds its memory to what enters a linear head with a bias", start, with_bias=True
        )

    return fedavg(lr=lr, weights=weights)._replace(
        name="feddbe",
        server=server,
        client_update=client_update,
        expected_update=lambda received, info: {"parameters": received["parameters"]},
        server_update=server_update,
        personal_models=personal_models,
        setup_message=setup_message,
        expected_setup=lambda state, info: {"centroids": state["centroids"]},
        setup_update=setup_update,
        check=check,
        needs=Needs(head=True, introduction="everyone"),
    )
