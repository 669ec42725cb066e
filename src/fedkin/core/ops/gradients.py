"""Gradients of a client's loss, and steps down them."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from fedkin.core.model import Batch, Model, collecting_buffers
from fedkin.core.optimizers import current
from fedkin.core.protected.private_gradient import private_gradient
from fedkin.core.protected.sealed import Sealed
from fedkin.core.tree import Params, Tree, is_buffer, map_tree


def gradient(function: Callable[..., Tensor]) -> Callable[..., Params]:
    """∇ of a scalar function with respect to its first argument, a parameter dict.

    ``buffer:`` entries of the result are not derivatives but the refreshed running statistics;
    ``descend`` puts them in place. Combine losses inside ``function``, rather than gradients
    afterwards, so that they stay what they are. Mini-batches are arguments of ``function``, not
    taken from around it: where samples are protected, nothing else may open them.

    Args:
        function: (w, …) → a 0-d tensor; w is a parameter dict.

    Returns:
        (w, …) → the gradient, with the names and shapes of w.
    """

    def at(w: Params, *rest: Any) -> Params:
        if (descents := current()) is not None and descents.sought:
            return w  # it is only asked what is descended, not where to
        if any(isinstance(one, Sealed) for one in rest):
            return private_gradient(function, w, rest)
        fixed = {name: value for name, value in w.items() if is_buffer(name)}

        def scalar(weights: Params) -> tuple[Tensor, Params]:
            with collecting_buffers() as refreshed:
                value = function({**weights, **fixed}, *rest)
            return value, refreshed[-1] if refreshed else fixed

        weights = {name: value for name, value in w.items() if not is_buffer(name)}
        slopes, statistics = torch.func.grad(scalar, has_aux=True)(weights)
        return {name: slopes[name] if name in slopes else statistics[name] for name in w}

    return at


def descend(w: Params, slope: Params, rate: float | Tensor, of: str = "w") -> Params:
    """One step down a gradient: w − rate · slope, or what [train] optimizer makes of it.

    Args:
        w: The parameters; running statistics among them take their refreshed values.
        slope: The gradient at w.
        rate: The learning rate.
        of: What is moved, where a step moves several variables: each has its own momentum. Descents
            of one variable share theirs.

    Returns:
        The parameters after the step.
    """
    if (descents := current()) is not None:
        return descents.descend(w, slope, rate, of)
    return {
        name: slope[name] if is_buffer(name) else value - rate * slope[name]
        for name, value in w.items()
    }


def sgd_step(model: Model, w: Params, batch: Batch, lr: Tensor) -> Params:
    """w ← w − lr ∇f(w; batch).

    Args:
        model: Whose mean loss over a batch f is.
        w: Its parameters.
        batch: A mini-batch.
        lr: The learning rate, a 0-d tensor.

    Returns:
        The parameters after the step.
    """
    return descend(w, gradient(model.loss)(w, batch), lr)


def full_gradient(
    function: Callable[..., Tensor], at: Tree, batches: list[Batch], *constants: Tree
) -> Tree:
    """Σ over batches of ∇ function(at, batch, *constants), by plain autograd: a full gradient that
    is needed once.

    Args:
        function: (at, batch, *constants) → a 0-d tensor, the mean over one batch times its share.
        at: Where the gradient is taken.
        batches: At least one.
        constants: Further arguments.

    Returns:
        A tree like ``at``.
    """
    with torch.inference_mode(False):
        at = map_tree(lambda leaf: leaf.clone(), at)
        parts = [torch.func.grad(function)(at, batch, *constants) for batch in batches]
    total = parts[0]
    for part in parts[1:]:
        total = map_tree(lambda a, b: a + b, total, part)
    return total
