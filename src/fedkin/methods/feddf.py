"""FedDF (Lin, Kong, Stich & Jaggi, 2020): FedAvg per architecture, then distillation from all
uploaded models.
"""

from collections.abc import Mapping

import torch
from torch import Tensor

from fedkin.core.aggregation import EachClient, Reply, Weights
from fedkin.core.hyperparameters import Count, Positive, Whole, declared
from fedkin.core.method import ClientInfo, FederationInit, Method, Needs, ServerContext, public_set
from fedkin.core.ops import scan
from fedkin.core.sums.exact import sum_of
from fedkin.core.tree import Params, Tree, weighted_mean
from fedkin.methods.fedavg import fedavg
from fedkin.methods.parts.codistillation import distillation_step, log_predictions

__all__ = ["feddf"]


@declared
def feddf(
    *,
    lr: float,
    distill_steps: Whole = 100,
    distill_lr: Positive = 0.05,
    public_batch: Count = 128,
    weights: Weights = "samples",
) -> Method:
    """FedDF (Algorithms 1 and 3): the server starts each architecture's model at the mean of its
    participants' models and lets it imitate σ(mean logits of all participants' models) on the
    public set, by KL.

    Readings: the mean of logits is uniform, as printed. An architecture without participants starts
    from its last model and is distilled like the others.
    Deviation: plain SGD for a fixed number of steps, where the paper has Adam (0.001, cosine
    schedule) until accuracy on validation data at the server no longer rises; our server has no
    labeled data, and a model that agrees with its teacher must stay where it is, which Adam does
    not promise. The authors' code averages the losses against each teacher by default; the paper
    averages their logits.

    Args:
        lr: Learning rate of local SGD.
        distill_steps: Mini-batches of public_batch public rows a round, for each architecture; 0 is
            FedAvg.
        distill_lr: Learning rate of the server's distillation.
        public_batch: Public rows of a distillation step.
        weights: "samples" or "uniform": the weights of the mean of parameters.
    """

    def server(start: FederationInit) -> Tree:
        names = sorted(start.parameters)
        kind = torch.tensor([names.index(start.architectures[client]) for client in start.clients])
        return {"parameters": {name: start.parameters[name] for name in names}, "kind": kind}

    def broadcast(state: Tree, client: int) -> Tree:
        return {"parameters": state["parameters"][architecture(state, client)]}

    def server_update(state: Tree, replies: Mapping[int, Reply], server: ServerContext) -> Tree:
        means = {name: mean(state, name, replies) for name in state["parameters"]}
        if distill_steps:
            pairs = public_set(server), teacher(state, replies, server)
            means = {name: student(name, w, pairs, server) for name, w in means.items()}
        return {**state, "parameters": means}

    def student(name: str, w: Params, pairs: tuple[Tensor, Tensor], server: ServerContext) -> Tree:
        batches = server.rows(server.models[name], pairs, public_batch, distill_steps, "distill")
        return scan(distillation_step, w, batches, distill_lr * server.decay, 1.0)

    return fedavg(lr=lr)._replace(
        name="feddf",
        server=server,
        broadcast=broadcast,
        aggregation=EachClient(weights),
        server_update=server_update,
        newcomer_placements=newcomer_placements,
        needs=Needs(one_architecture=False, public="unlabeled", classes=True, server_models=True),
    )


def newcomer_placements(state: Tree, newcomer: int, info: ClientInfo) -> tuple[Tree, ...]:
    """A newcomer beside the others of its architecture."""
    kind = sorted(state["parameters"]).index(info.architecture)
    return ({**state, "kind": torch.cat([state["kind"], torch.tensor([kind])])},)


def architecture(state: Tree, client: int) -> str:
    """The name of a client's architecture."""
    names: list[str] = sorted(state["parameters"])
    return names[int(state["kind"][client])]


def mean(state: Tree, name: str, replies: Mapping[int, Reply]) -> Tree:
    """Σ n_i w_i / Σ n_i over the participants of one architecture; its last model where there are
    none.
    """
    own = [reply for client, reply in replies.items() if architecture(state, client) == name]
    if not own:
        return state["parameters"][name]
    return sum_of((reply.message["parameters"], reply.weight) for reply in own).mean()


def teacher(state: Tree, replies: Mapping[int, Reply], server: ServerContext) -> Tensor:
    """σ(mean over all uploaded models of their logits) on the public set [public, classes]."""
    public = public_set(server)
    predictions = (
        log_predictions(
            server.models[architecture(state, client)], reply.message["parameters"], public
        )
        for client, reply in replies.items()
    )
    return torch.softmax(weighted_mean(predictions, [1.0] * len(replies)), 1)
