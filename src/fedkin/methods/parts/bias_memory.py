"""FedDBE's step: a model, the memory of its features' bias, and the mean of its features."""

from torch import Tensor

from fedkin.core.model import Batch, Head, Model, head_of
from fedkin.core.ops import descend, gradient
from fedkin.core.tree import Params

MEMORY = "memory"


def bias(w: Params, head: Head) -> str:
    """The name of a linear head's bias.

    Args:
        w: The model's parameters.
        head: A linear one.

    Returns:
        A key of ``w``.
    """
    return next(name for name in head.names if w[name].dim() == 1)


def objective(
    both: Params, model: Model, batch: Batch, mean: Tensor, goal: Tensor, kappa: Tensor, mu: Tensor
) -> Tensor:
    """ℓ of the features with the memory, and κ MSE(z̄_i^g, z̄^g).

    Args:
        both: The model's parameters, and the memory z̄_i^p under MEMORY.
        model: The client's architecture.
        batch: One mini-batch.
        mean: z̄_i^g [d] before it.
        goal: z̄^g [d].
        kappa: κ.
        mu: μ in (0, 1].

    Returns:
        A 0-d tensor.
    """
    w, head = {name: value for name, value in both.items() if name != MEMORY}, head_of(model)
    z = head.train_features(w, batch.x)
    apart = ((1 - mu) * mean + mu * (batch.weight @ z) - goal).square().mean()
    rows = model.family.nll(head.scores(w, z + both[MEMORY]), batch.y)
    return (rows * batch.weight).sum() + kappa * apart


def regularized_step(
    model: Model,
    at: tuple[Params, Tensor],
    batch: Batch,
    goal: Tensor,
    kappa: Tensor,
    mu: Tensor,
    lr: Tensor,
) -> tuple[Params, Tensor]:
    """One step of f, g and z̄_i^p; then z̄_i^g with the mini-batch.

    Args:
        model: The client's architecture.
        at: (parameters and memory, z̄_i^g).
        batch: One mini-batch.
        goal: z̄^g [d].
        kappa: κ.
        mu: μ in (0, 1].
        lr: Learning rate.

    Returns:
        Both anew.
    """
    both, mean = at
    slope = gradient(objective)(both, model, batch, mean, goal, kappa, mu)
    w = {name: value for name, value in both.items() if name != MEMORY}
    seen = batch.weight @ head_of(model).train_features(w, batch.x)
    return descend(both, slope, lr), (1 - mu) * mean + mu * seen
