"""A model's outputs for many rows, in evaluation mode, and which of them are right."""

from collections.abc import Callable

import torch
from torch import Tensor

from fedkin.core.model import Batch, Model
from fedkin.core.tree import Params


def outputs(model: Model, w: Params, batches: list[Batch]) -> Tensor:
    """Linear predictors (logits) of all samples of these batches, one after the other: [n, C],
    evaluation mode.

    Args:
        model: The architecture.
        w: Its parameters.
        batches: At least one.

    Returns:
        Without a graph for gradients.
    """
    with torch.inference_mode():
        there = model.there(w)
        return torch.cat([model.outputs(there, batch.x) for batch in batches])


def over_rows(
    of: Callable[[Tensor], Tensor], model: Model, w: Params, x: Tensor, rows: int = 1024
) -> Tensor:
    """``of(outputs)`` of every row of x [n, …] in evaluation mode, ``rows`` of them at a time.

    Args:
        of: Outputs [rows, C] → what is wanted of them, with a first axis of the same length.
        model: The architecture.
        w: Its parameters.
        x: Inputs.
        rows: How many go through the model at once.

    Returns:
        What ``of`` gives, one after the other: [n, …].
    """
    with torch.inference_mode():
        there = model.there(w)
        return torch.cat([of(model.outputs(there, part)) for part in torch.split(x, rows)])


def predictions(model: Model, w: Params, x: Tensor) -> Tensor:
    """s(w, x): class probabilities [n, classes] of a public set, in evaluation mode. Rows lie on
    the simplex.

    Args:
        model: The architecture.
        w: Its parameters.
        x: Public samples [n, …].

    Returns:
        [n, classes]; of regression the means [n, 1].
    """
    return over_rows(model.family.probabilities, model, w, x)


def correct(predictions: Tensor, y: Tensor) -> Tensor:
    """Whether the most likely class is the sample's. A row with a NaN is wrong whatever its label:
    a model that diverged says nothing, and argmax alone would have it say class 0.

    >>> nan = float("nan")
    >>> correct(torch.tensor([[0.2, 0.8], [nan, nan]]), torch.tensor([1, 0])).tolist()
    [True, False]

    Args:
        predictions: Probabilities or their logarithms [n, classes], of which -inf is one.
        y: Classes [n].

    Returns:
        [n] bool.
    """
    return (predictions.argmax(1) == y) & ~predictions.isnan().any(1)
