"""FedAvg (McMahan et al., 2017): w ← Σ p_i w_i over the participants."""

from fedkin.core.aggregation import Mean, WeightedSum, Weights
from fedkin.core.hyperparameters import declared
from fedkin.core.method import ClientContext, Method, ServerContext
from fedkin.core.ops import scan, sgd_step
from fedkin.core.tree import Params, Tree

__all__ = ["fedavg", "server_update"]


def server_update(state: Tree, sent: Mean, server: ServerContext) -> Tree:
    """w ← Σ n_i w_i / Σ n_i over the replies that arrived.

    Args:
        state: The server's, before the round.
        sent: The mean of the replies, by the method's weights.
        server: What a server may use.

    Returns:
        The state after the round: the parameters alone.
    """
    return {"parameters": sent.mean["parameters"]}


@declared
def fedavg(*, lr: float, weights: Weights = "samples") -> Method:
    """FedAvg: every participant trains the global model on its data, the server averages.

    Readings: batch-norm statistics are averaged like parameters; the last, partial batch of an
    epoch is trained on, by the mean over the samples that it has.

    Args:
        lr: Learning rate η of local SGD. Batches, steps and the optimizer come from [train].
        weights: Of the mean: by "samples", n_i / Σ n as in the paper, or "uniform".
    """

    def client_update(received: Tree, own: Tree, data: ClientContext) -> tuple[Tree, Tree]:
        w = scan(sgd_step, received["parameters"], data.batches(), lr * data.decay)
        return own, {"parameters": w}

    def personal_models(received: Tree, own: Tree, data: ClientContext) -> dict[str, Params]:
        return {"personal": received["parameters"], "global": received["parameters"]}

    return Method(
        name="fedavg",
        server=lambda start: {"parameters": start.only()},
        client=lambda initial, info: {},
        broadcast=lambda state, client: state,
        client_update=client_update,
        expected_update=lambda received, info: received,
        aggregation=WeightedSum(weights),
        server_update=server_update,
        personal_models=personal_models,
    )
