"""Convolutions with few channels in a compiled step (``small_conv.cpp``).

A library fills its vectors with channels, 16 at a time: with six of them most of its work is for
nothing. Here a vector is as many pictures of the mini-batch.
"""

from collections.abc import Callable
from typing import Any

from torch import Tensor, ops
from torch.fx import Graph, Node

from fedkin.runtime.rewriting import FEW, contiguous_float32, put

aten = ops.aten

LEAST = 8  # pictures: fewer leave most lanes unused
LARGEST = 2**14  # numbers of a picture, before and after: packed, they stay near the processor
ONE = [1, 1], [0, 0], [1, 1], False, [0, 0], 1  # step, padding, dilation, transposed, …, groups


def _back(slope: Tensor, x: Tensor, w: Tensor, mask: list[bool]) -> tuple[Tensor, ...]:
    made = aten.convolution_backward(slope, x, w, [w.shape[0]], *ONE, mask)
    return tuple(part.contiguous() for part, asked in zip(made, mask, strict=True) if asked)


SCHEMAS: dict[str, Callable[..., Any]] = {
    "small_conv(Tensor x, Tensor w, Tensor bias) -> Tensor": (
        lambda x, w, bias: aten.convolution(x, w, bias, *ONE).contiguous()
    ),
    "small_conv_back(Tensor slope, Tensor x, Tensor w) -> (Tensor, Tensor, Tensor)": (
        lambda slope, x, w: _back(slope, x, w, [True, True, True])
    ),
    "small_conv_weights(Tensor slope, Tensor x, Tensor w) -> (Tensor, Tensor)": (
        lambda slope, x, w: _back(slope, x, w, [False, True, True])
    ),
}


def replace(graph: Graph, node: Node) -> None:
    """A convolution with few channels, and its gradients, where that was found to be faster.

    Args:
        graph: Which is changed.
        node: That is looked at; any other stays.
    """
    arguments: tuple[Any, ...] = node.args
    if node.target is aten.convolution.default and _plain(arguments, 3):
        x, w, bias = arguments[:3]
        if _fits(x, w) and w.meta["val"].shape[0] < FEW:
            put(graph, node, ops.fedkin.small_conv.default, (x, w, bias))
    if node.target is aten.convolution_backward.default and _plain(arguments, 4):
        slope, x, w = arguments[:3]
        out, into = w.meta["val"].shape[:2]
        by_x = arguments[10] == [True, True, True]
        if not _fits(x, w) or not (by_x or arguments[10] == [False, True, True]):
            return
        if by_x and out <= FEW and min(out, into) < FEW:
            put(graph, node, ops.fedkin.small_conv_back.default, (slope, x, w))
        elif not by_x and out < FEW:
            made = put(graph, node, ops.fedkin.small_conv_weights.default, (slope, x, w))
            for part in list(made.users):
                part.args = (made, int(part.args[1]) - 1)  # type: ignore[arg-type]


def _plain(arguments: tuple[Any, ...], first: int) -> bool:
    """Whether all tensors lie side by side, and the rest is as in ``ONE``."""
    tensors = arguments[:3]
    return tuple(arguments[first : first + 6]) == ONE and all(
        isinstance(node, Node) and contiguous_float32(node.meta.get("val")) for node in tensors
    )


def _fits(x: Node, w: Node) -> bool:
    """Whether there are pictures enough, and small ones."""
    before, kernels = x.meta["val"], w.meta["val"]
    if before.dim() != 4 or before.shape[0] < LEAST:
        return False
    (rows, columns), (tall, wide) = before.shape[2:], kernels.shape[2:]
    # a gradient's way back needs columns of zeros beside the slopes
    result = kernels.shape[0] * (rows - tall + 1) * (columns + wide - 1)
    largest: int = max(before[0].numel(), result)
    return largest <= LARGEST
