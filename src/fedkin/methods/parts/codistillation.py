"""Co-distillation, what DS-FL and KT-pFL have in common: each client imitates a target on the
public set, then trains.

Only predictions travel, so clients may hold any architectures.
"""

import torch
from torch import Tensor

from fedkin.core.aggregation import Mean, WeightedSum
from fedkin.core.method import (
    ClientContext,
    ClientInfo,
    DistillationTarget,
    FederationInit,
    Method,
    Needs,
    ServerContext,
    likelihood,
    public_set,
)
from fedkin.core.model import Model
from fedkin.core.ops import descend, gradient, over_rows, scan, sgd_step
from fedkin.core.tree import Params, Tree, dtype_of


def _apart(w: Params, model: Model, x: Tensor, target: Tensor, temperature: Tensor) -> Tensor:
    """Cross-entropy of the softened predictions with the target, mean of the rows: KL(target ‖
    σ(f(w, x)/T)) up to a constant of w, so its gradient is that of either.
    """
    log_predicted = torch.log_softmax(likelihood(model, model.train_outputs(w, x)) / temperature, 1)
    return -(target * log_predicted).sum(1).mean()


def distillation_step(
    model: Model, w: Params, batch: tuple[Tensor, Tensor], lr: Tensor, temperature: Tensor
) -> Params:
    """One distillation step on public rows and their target probabilities.

    Args:
        model: The client's architecture.
        w: Its parameters.
        batch: (public rows x, their targets [b, classes]).
        lr: Learning rate.
        temperature: T of softmax(outputs / T).

    Returns:
        The new w.
    """
    x, target = batch
    return descend(w, gradient(_apart)(w, model, x, target, temperature), lr)


def log_predictions(model: Model, w: Params, x: Tensor) -> Tensor:
    """log s(w, x) [n, classes], evaluation mode: the logits up to a constant of each row, which no
    softmax sees.

    Args:
        model: The architecture.
        w: Its parameters.
        x: Public rows [n, …].

    Returns:
        No graph for gradients.
    """
    return over_rows(lambda outputs: likelihood(model, outputs), model, w, x)


MEAN_PREDICTIONS = WeightedSum("uniform", ("predictions",))  # every client counts alike


def codistil(
    *, lr: float, distill_lr: float, distill_steps: int, public_batch: int, temperature: float
) -> Method:
    """Plain co-distillation: the target of everybody is the uniform mean of the last round's
    predictions.

    Until predictions have arrived the target has no rows: a client's first work may be private
    training alone.

    Args:
        lr: Learning rate of private training.
        distill_lr: Learning rate of imitation.
        distill_steps: Mini-batches of public rows in a round.
        public_batch: Rows of each.
        temperature: T of softmax(outputs / T).

    Returns:
        A Method to be changed and named by its caller.
    """

    def server(start: FederationInit) -> Tree:
        return {"predictions": torch.zeros((0, start.classes), dtype=dtype_of(start.parameters))}

    def client(initial: Params, info: ClientInfo) -> Tree:
        return {"parameters": initial}

    def client_update(received: Tree, own: Tree, data: ClientContext) -> tuple[Tree, Tree]:
        w, public, target = own["parameters"], public_set(data), received["predictions"]
        if len(target):
            shared = data.rows((public, target), public_batch, distill_steps, "public")
            w = scan(distillation_step, w, shared, distill_lr * data.decay, temperature)
        w = scan(sgd_step, w, data.batches(), lr * data.decay)
        predictions = torch.softmax(log_predictions(data.model, w, public) / temperature, 1)
        return {"parameters": w}, {"predictions": predictions}

    def distillation_target(received: Tree, own: Tree, predictions: Tensor) -> DistillationTarget:
        target = received["predictions"]
        return DistillationTarget(
            target if len(target) else None, 1.0, public_batch, temperature=temperature
        )

    def expected_update(received: Tree, info: ClientInfo) -> Tree:
        return {"predictions": received["predictions"].new_zeros(info.public, info.classes)}

    def server_update(state: Tree, sent: Mean, server: ServerContext) -> Tree:
        return {"predictions": sent.mean["predictions"]}

    return Method(
        name="codistil",
        server=server,
        client=client,
        broadcast=lambda state, client: state,
        client_update=client_update,
        distillation_target=distillation_target,
        expected_update=expected_update,
        aggregation=MEAN_PREDICTIONS,
        server_update=server_update,
        personal_models=lambda received, own, data: {"personal": own["parameters"]},
        needs=Needs(one_architecture=False, public="unlabeled", classes=True),
    )
