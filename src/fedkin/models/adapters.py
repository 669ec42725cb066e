"""Networks with adapters: small parts beside a body that [model] frozen leaves as it is."""

import math

import torch
from torch import Tensor, nn

from fedkin.models.small import Shape


class _Bottleneck(nn.Module):
    """x + up(ReLU(down(x))): what it adds begins at zero, so that the body is what it was
    (Houlsby et al., 2019).
    """

    def __init__(self, width: int, narrow: int) -> None:
        super().__init__()
        self.down, self.up = nn.Linear(width, narrow), nn.Linear(narrow, width)
        nn.init.zeros_(self.up.weight)
        nn.init.zeros_(self.up.bias)

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = x + self.up(torch.relu(self.down(x)))
        return out


class _Adapted(nn.Module):
    def __init__(self, inputs: int, hidden: int, adapter: int, classes: int) -> None:
        super().__init__()
        self.body = nn.Linear(inputs, hidden)
        self.adapter = _Bottleneck(hidden, adapter)
        self.head = nn.Linear(hidden, classes)

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.head(self.adapter(torch.relu(self.body(x.flatten(1)))))
        return out


def dnn_adapter(shape: Shape, classes: int, hidden: int = 128, adapter: int = 16) -> nn.Module:
    """``dnn`` with a residual bottleneck adapter between its hidden layer and its head.

    Args:
        shape: Of one sample; it is flattened.
        classes: Numbers that it gives a sample.
        hidden: Units of the hidden layer.
        adapter: Units of the bottleneck.

    Returns:
        A module: [batch, …] → logits [batch, classes].
    """
    return _Adapted(math.prod(shape), hidden, adapter, classes)
