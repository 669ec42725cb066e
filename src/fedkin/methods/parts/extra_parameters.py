"""Parameters that a method has beside a model's, in one dict: how its linear layers begin, and the
model without them.
"""

import math

import torch
from torch import Tensor

from fedkin.core.tree import Params


def uniform_layer(draw: torch.Generator, size: int, *shape: int) -> Tensor:
    """Uniform within ±1/√size, as torch begins a linear layer.

    Args:
        draw: What draws it.
        size: Numbers that enter the layer.
        *shape: Of its weight or its bias.

    Returns:
        float64, whatever dtype it is kept in.
    """
    drawn = torch.rand(*shape, generator=draw, dtype=torch.float64)
    return drawn.mul(2).sub(1).div(math.sqrt(size))


def without(w: Params, prefix: str) -> Params:
    """What a model has of parameters beside which others stand.

    Args:
        w: Parameters by name.
        prefix: What the others' names begin with, and no name of a torch module.

    Returns:
        The model's, in their order.
    """
    return {name: value for name, value in w.items() if not name.startswith(prefix)}
