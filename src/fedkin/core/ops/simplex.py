"""Steps on the unit simplex."""

import torch
from torch import Tensor


def simplex_step(c: Tensor, direction: Tensor, rate: float | Tensor, floor: float = 1e-6) -> Tensor:
    """One entropic mirror-descent step on the unit simplex: c ∘ exp(−rate · direction), normalised
    (PPFL eq. 25).

    ``c`` and ``direction`` are [..., K]. Entries below ``floor`` are raised to it, so that no model
    is lost for good, and then all are divided by their sum: the least is floor / (1 + K · floor) or
    above.

    Args:
        c: Positive, sums of 1 along the last axis.
        direction: The gradient, of the same shape.
        rate: The step size η.
        floor: What smaller entries are raised to, before the division.

    Returns:
        Of the shape of ``c``.
    """
    logits = torch.log(c) - rate * direction
    moved = torch.softmax(logits, -1).clamp_min(floor)
    return moved / moved.sum(-1, keepdim=True)
