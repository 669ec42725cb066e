"""Max pooling by 2 x 2 in a compiled step (``small_pool.cpp``): torch's bits, but for the sign of
a zero.

torch's keeps where each maximum was as int64, finds it number by number, and is compiled so that a
gradient looks again at every number. Here a byte says where it was, many are found at once, and a
gradient is written where it belongs. Many channels torch lays side by side: it is as fast then.
"""

from collections.abc import Callable
from operator import getitem
from typing import Any

import torch
from torch import Tensor, ops
from torch.fx import Graph, Node

from fedkin.runtime.rewriting import FEW, contiguous_float32, put

aten = ops.aten

# size, step, padding, dilation, whether to round up, as they may be written
FORMS: tuple[tuple[Any, ...], ...] = ([2, 2],), ([2, 2], []), ([0, 0],), ([1, 1],), (False,)


def _pooled(x: Tensor) -> tuple[Tensor, Tensor]:
    out, at = aten.max_pool2d_with_indices(x, [2, 2], [2, 2])
    row, column = at // x.shape[-1], at % x.shape[-1]
    return out, (row % 2 * 2 + column % 2).to(torch.uint8)


def _pooled_back(slope: Tensor, place: Tensor, rows: int, columns: int) -> Tensor:
    """Each slope at its place of four, row by row; rows and columns that no pool reads get 0."""
    corners = [torch.where(place == corner, slope, 0.0) for corner in range(4)]
    upper, lower = (torch.stack(corners[row : row + 2], -1).flatten(-2) for row in (0, 2))
    whole = torch.stack((upper, lower), -2).flatten(-3, -2)
    missing = (0, columns - whole.shape[-1], 0, rows - whole.shape[-2])
    return torch.nn.functional.pad(whole, missing)


SCHEMAS: dict[str, Callable[..., Any]] = {
    "small_pool(Tensor x) -> (Tensor, Tensor)": _pooled,
    "small_pool_back(Tensor slope, Tensor place, int rows, int columns) -> Tensor": _pooled_back,
}


def replace(graph: Graph, node: Node) -> None:
    """A pool and the gradients through it, where nothing else asks where the maxima were.

    Args:
        graph: Which is changed.
        node: That is looked at; any other stays.
    """
    if node.target is not aten.max_pool2d_with_indices.default or not _by_two(node.args[1:]):
        return
    x: Any = node.args[0]
    parts: dict[Any, Node] = {part.args[1]: part for part in node.users if part.target is getitem}
    backward = list(parts[1].users) if 1 in parts else []
    if len(parts) != len(node.users) or not all(_suits(user, x) for user in backward):
        return
    if not _few_planes(x):
        return
    with graph.inserting_before(node):
        made = graph.call_function(ops.fedkin.small_pool.default, (x,))
        outputs = [graph.call_function(getitem, (made, number)) for number in (0, 1)]
    for number, part in parts.items():
        outputs[number].meta = dict(part.meta)
    if 0 in parts:
        parts[0].replace_all_uses_with(outputs[0])
    for user in backward:
        arguments = (user.args[0], outputs[1], *x.meta["val"].shape[-2:])
        put(graph, user, ops.fedkin.small_pool_back.default, arguments)


def _by_two(windows: tuple[Any, ...]) -> bool:
    """Whether windows of 2 x 2 lie side by side; what is not written is torch's default."""
    return bool(windows) and all(one in forms for one, forms in zip(windows, FORMS, strict=False))


def _suits(user: Node, x: Node) -> bool:
    """Whether a use of where the maxima were is the gradient of the same pool."""
    if user.target is not aten.max_pool2d_with_indices_backward.default or user.args[1] is not x:
        return False
    slope: Any = user.args[0]
    return _by_two(user.args[2:7]) and _few_planes(slope)


def _few_planes(node: Node) -> bool:
    """Whether its few planes lie one after the other, and the numbers of each row by row."""
    value = node.meta.get("val")
    return contiguous_float32(value) and value.shape[-3] < FEW
