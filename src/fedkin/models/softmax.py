"""Whether a module of somebody's own already ends in a softmax: it would be trained through two."""

import torch
from torch import Tensor

from fedkin.core.family import CATEGORICAL
from fedkin.core.model import Model

NEAR = 1e-4  # of a sum of probabilities to 1


def softmax_remark(model: Model, x: Tensor) -> str:
    """A sentence where the outputs of samples are probabilities already; "" where they are not.

    A module that ends in log_softmax is none: a second one changes nothing.

    Args:
        model: with its first parameters.
        x: some samples [rows, …].

    Returns:
        The end of a remark, or "".
    """
    if model.learner is not None or model.family.name != CATEGORICAL.name or not len(x):
        return ""
    with torch.no_grad():
        out = model.outputs(model.initial, x)
    if out.shape[1] < 2 or not bool((out >= 0).all()):
        return ""
    if float((out.sum(1) - 1).abs().max()) > NEAR:
        return ""
    return (
        f"model {model.name!r} ends in a softmax, and fedkin applies one to its outputs: it is "
        "trained through two, which slows it; leave the last layer out, outputs are logits"
    )
