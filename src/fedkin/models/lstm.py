"""A long short-term memory that predicts the next symbol (character or word) after a window of
symbols. The cells are written out: torch's own cannot be mapped over clients.
"""

import math

import torch
from torch import Tensor, nn

from fedkin.core.errors import FedkinError
from fedkin.models.small import Shape


class _Recurrent(nn.Module):
    """One layer of cells, with the weights, gates and first draws of ``torch.nn.LSTM``."""

    def __init__(self, inputs: int, width: int) -> None:
        super().__init__()
        self.width = width
        self.into, self.within = nn.Linear(inputs, 4 * width), nn.Linear(width, 4 * width)
        for value in self.parameters():
            nn.init.uniform_(value, -1 / math.sqrt(width), 1 / math.sqrt(width))

    def forward(self, x: Tensor, real: Tensor) -> Tensor:
        """x [batch, length, inputs], real [batch, length, 1] → states [batch, length, width], 0
        until the first symbol that is no padding.
        """
        pushed = self.into(x)
        memory = state = x.new_zeros(x.shape[0], self.width)
        states = []
        for step in range(x.shape[1]):
            gates = pushed[:, step] + self.within(state)
            entry, kept, new, shown = gates.chunk(4, 1)
            memory = kept.sigmoid() * memory + entry.sigmoid() * new.tanh()
            memory = memory * real[:, step]
            state = shown.sigmoid() * memory.tanh()
            states.append(state)
        return torch.stack(states, 1)


class _Network(nn.Module):
    """Tokens [batch, length] → logits of the next symbol [batch, classes], read at the window's
    last position. Padding stands before the text.
    """

    def __init__(self, classes: int, embedding: int, width: int, layers: int) -> None:
        super().__init__()
        self.padding = classes + 1
        self.symbols = nn.Embedding(classes + 2, embedding)  # the classes, the unknown, padding
        sizes = [embedding, *[width] * (layers - 1)]
        self.layers = nn.ModuleList(_Recurrent(size, width) for size in sizes)
        self.logits = nn.Linear(width, classes)

    def forward(self, x: Tensor) -> Tensor:
        if x.is_floating_point():
            raise FedkinError("model 'lstm' reads symbols, the data hold numbers: try dnn")
        state = self.symbols(x)
        real = (x != self.padding).to(state.dtype)[:, :, None]
        for layer in self.layers:
            state = layer(state, real)
        out: Tensor = self.logits(state[:, -1])
        return out


def lstm(
    shape: Shape, classes: int, embedding: int = 8, width: int = 256, layers: int = 2
) -> nn.Module:
    """Stacked LSTM layers over the window of symbols, as LEAF has them for Shakespeare; the last
    position predicts the next symbol (``data.length``).

    Args:
        shape: Of one sample, [length].
        classes: Symbols that can be predicted.
        embedding: Numbers a symbol becomes.
        width: Cells of a layer.
        layers: How many layers.

    Returns:
        A module: symbols [batch, length] → logits of the next symbol [batch, classes].

    Raises:
        FedkinError: A sample is no row of symbols.

    Source: Caldas et al. (2018), "LEAF", the model of its Shakespeare task.
    """
    if len(shape) != 1:
        raise FedkinError(f"model 'lstm' reads rows of symbols, the data have shape {list(shape)}")
    return _Network(classes, embedding, width, layers)
