"""FedAvg-FT, with plain loops: PPFL's baseline; the final global model, trained on by
every client.
"""

from collections.abc import Mapping, Sequence

from tests.reference.local_fedavg import Plan, fedavg, train
from tests.reference.model import (
    Batch,
    Client,
    Gradient,
    Params,
    Snapshot,
    accuracy,
    batch_gradient,
    mean_loss,
)


def finetune(
    start: Params,
    data: Mapping[int, Client],
    plan: Plan,
    participants: Sequence[Sequence[int]],
    lr: float | Sequence[float],
    last_plan: Mapping[int, Sequence[Batch]],
    last_lr: float,
    gradient: Gradient = batch_gradient,
) -> tuple[list[Snapshot], dict[int, Params]]:
    """(FedAvg's snapshots, {k: the client's tuned model}): clients that never took part are tuned
    too.
    """
    history = fedavg(start, data, plan, participants, lr, gradient)
    w = history[-1]["server"]["model"]
    return history, {k: train(w, data[k], last_plan[k], last_lr, gradient) for k in data}


def best_epoch(
    w: Params, client: Client, epochs: Sequence[Sequence[Batch]], lr: float
) -> tuple[Params, int]:
    """(the model, its epochs): of w and the models after each epoch the most accurate one on the
    client's validation rows; equal ones by loss, then the earlier one.
    """
    models = [w]
    for batches in epochs:
        models.append(train(models[-1], client, batches, lr))
    x, y = client["x_val"], client["y_val"]
    order = [(-accuracy(v, x, y), mean_loss(v, x, y), k) for k, v in enumerate(models)]
    return models[min(order)[2]], min(order)[2]
