"""A small transformer that predicts the next symbol (character or word) after a window
of symbols.
"""

import math

import torch
from torch import Tensor, nn

from fedkin.core.errors import FedkinError
from fedkin.models.small import Shape


class _Attention(nn.Module):
    """Multi-head self-attention, written out: fused kernels cannot all be traced and differentiated
    twice.
    """

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.into, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x: Tensor, bias: Tensor) -> Tensor:
        batch, length, width = x.shape
        parts = (
            self.into(x)
            .view(batch, length, 3, self.heads, width // self.heads)
            .permute(2, 0, 3, 1, 4)
        )
        query, key, value = parts.unbind(0)
        affinity = query @ key.transpose(-1, -2) / math.sqrt(width // self.heads) + bias
        mixed = (affinity.softmax(-1) @ value).transpose(1, 2).reshape(batch, length, width)
        out: Tensor = self.out(mixed)
        return out


class _Layer(nn.Module):
    """Attention and a two-layer net, each after a layer norm and added to what came in."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.before, self.attention = nn.LayerNorm(width), _Attention(width, heads)
        self.between = nn.LayerNorm(width)
        self.net = nn.Sequential(
            nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)
        )

    def forward(self, x: Tensor, bias: Tensor) -> Tensor:
        x = x + self.attention(self.before(x), bias)
        out: Tensor = x + self.net(self.between(x))
        return out


class _Transformer(nn.Module):
    """Tokens [batch, length] → logits of the next symbol [batch, classes], read at the window's
    last position.

    All positions see one another: what is predicted stands outside the window. Padding is seen by
    nobody.
    """

    def __init__(self, length: int, classes: int, width: int, layers: int, heads: int) -> None:
        super().__init__()
        self.padding = classes + 1
        self.symbols = nn.Embedding(classes + 2, width)  # the classes, the unknown symbol, padding
        self.places = nn.Parameter(torch.randn(length, width) * 0.02)
        # as large as what the layers add: with the usual 0.02 of Adam's users, plain SGD does not
        # find the symbols
        nn.init.normal_(self.symbols.weight, std=1 / math.sqrt(width))
        self.layers = nn.ModuleList(_Layer(width, heads) for _ in range(layers))
        self.after, self.logits = nn.LayerNorm(width), nn.Linear(width, classes)

    def forward(self, x: Tensor) -> Tensor:
        if x.is_floating_point():
            raise FedkinError(
                "model 'transformer_lm' reads symbols, the data hold numbers: try dnn"
            )
        # finite, so that a window of nothing but padding gives numbers and not nan
        bias = (x == self.padding).to(self.places.dtype)[:, None, None, :] * -1e9
        state = self.symbols(x) + self.places
        for layer in self.layers:
            state = layer(state, bias)
        out: Tensor = self.logits(self.after(state[:, -1]))
        return out


def transformer_lm(
    shape: Shape, classes: int, width: int = 64, layers: int = 4, heads: int = 4
) -> nn.Module:
    """A transformer encoder over the window of symbols; its last position predicts the next one
    (``data.length``).

    Args:
        shape: Of one sample, [length].
        classes: Symbols that can be predicted.
        width: Numbers of a symbol's state; a multiple of ``heads``.
        layers: How many layers, at least 1.
        heads: Of attention, at least 1.

    Returns:
        A module: symbols [batch, length] → logits of the next symbol [batch, classes].

    Raises:
        FedkinError: A size is below 1, ``width`` is no multiple of ``heads``, or a sample is no row
            of symbols.
    """
    for name, value in (("width", width), ("layers", layers), ("heads", heads)):
        if value < 1:
            raise FedkinError(
                f"transformer_lm: {name}={value} must be a whole number of at least 1"
            )
    if width % heads:
        raise FedkinError(f"transformer_lm: width={width} must be a multiple of heads={heads}")
    if len(shape) != 1:
        raise FedkinError(
            f"model 'transformer_lm' reads rows of symbols, the data have shape {list(shape)}"
        )
    return _Transformer(shape[0], classes, width, layers, heads)
