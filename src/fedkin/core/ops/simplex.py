"""Steps on the unit simplex."""

import torch
from torch import Tensor


def simplex_step(c: Tensor, direction: Tensor, rate: float | Tensor, floor: float = 1e-6) -> Tensor:
    """One entropic mirror-descent step on the unit simplex: c ∘ exp(−rate · direction), normalised
    (PPFL eq. 25).

    ``c`` and ``direction`` are [..., K]. Entries are kept at ``floor`` or above and the result sums
    to 1, so that no model is lost for good.

    Args:
        c: Positive, sums of 1 along the last axis.
        direction: The gradient, of the same shape.
        rate: The step size η.
        floor: The smallest entry that is kept.

    Returns:
        Of the shape of ``c``.
    """
    logits = torch.log(c) - rate * direction
    moved = torch.softmax(logits, -1).clamp_min(floor)
    return moved / moved.sum(-1, keepdim=True)
