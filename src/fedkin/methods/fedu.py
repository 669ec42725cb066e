"""FedU (Dinh, Vu, Tran, Dao & Zhang, 2022): multi-task learning with a Laplacian regularizer: a
graph draws the models of neighbours together. Algorithm 1.
"""

from collections.abc import Mapping, Sequence
from typing import Literal

import torch
from torch import Tensor

from fedkin.core.aggregation import Reply
from fedkin.core.errors import FedkinError
from fedkin.core.hyperparameters import NotNegative, declared
from fedkin.core.method import ClientInfo, FederationInit, Method, ServerContext
from fedkin.core.tree import Params, Tree, weighted_mean
from fedkin.methods.fedavg import fedavg
from fedkin.methods.parts.affinity import edges

Graph = Literal["complete"] | Sequence[Sequence[float]]


@declared
def fedu(*, lr: float, pull: NotNegative = 0.5, graph: Graph = "complete") -> Method:
    """FedU: min Σ F_k(w_k) + η/2 Σ_k Σ_ℓ a_kℓ ‖w_k − w_ℓ‖²: client k trains w_k by SGD, then the
    server takes w_k ← w_k − μ̃η Σ_ℓ a_kℓ (w_k − w_ℓ) for the participants.

    Readings: the paper's μ̃ is the local rate times the local steps, which differ among clients
    here; μ̃ and η act through their product alone. Who is away counts with its last model.
    Above 1, pull times a row's sum would overshoot the neighbours, and is refused. A new client
    starts from the mean of all models; it has no neighbours in a graph that was given.

    Deviations: the authors' code takes the sum over the round's participants alone, and half of the
    step. It moves them one after the other, so later ones see those that have moved.

    Args:
        lr: Learning rate of local SGD.
        pull: μ̃η, the server's step times the weight of the regularizer, times the round's decay; 0
            is local training. 0.5 validated best on the leaderboard's federations; before it was
            0.1, which is no paper's value either.
        graph: The weights a_kℓ, symmetric, one row a client; "complete" is 1 / (clients − 1) for
            every pair, so that pull is the way to the mean of the others.
    """
    rows = None if isinstance(graph, str) else edges(graph, "method.graph of fedu")

    def weights(client: int, count: int) -> Tensor:
        """a_k [count], 0 at the client itself."""
        found = torch.zeros(count, dtype=torch.float64)
        if rows is None:
            found[:] = 1 / max(count - 1, 1)
        elif client < len(rows):
            found[: len(rows)] = rows[client]
        found[client] = 0.0
        return found

    def drawn(models: Sequence[Params], client: int, decay: float) -> Params:
        """w_k − μ̃η Σ_ℓ a_kℓ (w_k − w_ℓ), as a mean of models."""
        share = pull * decay * weights(client, len(models))
        share[client] = 1.0 - share.sum()
        counted = torch.nonzero(share)[:, 0].tolist()
        mean: Params = weighted_mean([models[k] for k in counted], share[counted].tolist())
        return mean

    def server_update(state: Tree, replies: Mapping[int, Reply], server: ServerContext) -> Tree:
        trained, models = present(state), list(state["models"])
        for client, reply in replies.items():
            trained[client] = reply.message["parameters"]
        for client in replies:
            models[client] = drawn(trained, client, server.decay)
        return {**state, "models": tuple(models)}

    def newcomer_placements(state: Tree, newcomer: int, info: ClientInfo) -> tuple[Tree, ...]:
        first = weighted_mean(present(state), [1.0] * newcomer)
        return ({**state, "models": (*state["models"], first)},)

    def update_newcomer(state: Tree, newcomer: int, reply: Reply, server: ServerContext) -> Tree:
        models = [*present(state)[:newcomer], reply.message["parameters"]]
        moved = drawn(models, newcomer, server.decay)
        return {**state, "models": (*state["models"][:newcomer], moved)}

    def check(start: FederationInit, participants: int) -> None:
        count = len(start.clients)
        if rows is not None and len(rows) != count:
            raise FedkinError(f"method.graph of fedu: {count} clients need as many rows")
        if rows is None:
            most = float(count > 1)  # of every row, and without rounding
        else:
            most = max(float(weights(k, count).sum()) for k in range(count))
        if pull * most > 1:
            raise FedkinError(
                f"fedu: pull times the sum of a client's row is {pull * most:.3g}, and above 1 the "
                "server's step overshoots the neighbours: lower method.pull"
            )

    return Method(
        name="fedu",
        server=lambda start: {"initial": start.only(), "models": ({},) * len(start.clients)},
        client=lambda initial, info: {},
        broadcast=lambda state, client: {"parameters": state["models"][client] or state["initial"]},
        client_update=fedavg(lr=lr).client_update,
        expected_update=lambda received, info: received,
        server_update=server_update,
        personal_models=lambda received, own, data: {"personal": received["parameters"]},
        newcomer_placements=newcomer_placements,
        update_newcomer=update_newcomer,
        check=check,
    )


def present(state: Tree) -> list[Params]:
    """Every client's model; who never took part has the initial one, which is kept once.

    Args:
        state: {"initial": w, "models": a model or {} of each client}.

    Returns:
        In the order of the clients.
    """
    return [model or state["initial"] for model in state["models"]]
