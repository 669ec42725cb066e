"""Small products of a compiled step (``small_matmul.cpp``).

A step of a mini-batch multiplies matrices of some ten rows. A library's product is made for larger
ones: it packs its factors first, and the one that torch brings leaves half of some CPUs' vector
units unused.
"""

from collections.abc import Callable
from typing import Any

from torch import Tensor, ops
from torch.fx import Graph, Node

from fedkin.runtime.rewriting import cpu_float32, put

aten = ops.aten

SCHEMAS: dict[str, Callable[..., Any]] = {
    "small_product(Tensor a, Tensor b) -> Tensor": lambda a, b: a @ b,
    "small_update(Tensor w, Tensor a, Tensor b) -> Tensor": lambda w, a, b: w - a @ b,
}
# multiplications of one product: a library's packing costs little beside more of them
LARGEST = 2**24
LONGEST = 2**12  # of them for one number, whose sum is one after the other


def replace(graph: Graph, node: Node) -> None:
    """A small product of float32 as an operator of fedkin's: a @ b, or w − a @ b.

    Args:
        graph: Which is changed.
        node: That is looked at; any other stays.
    """
    arguments: tuple[Any, ...] = node.args
    if node.target in (aten.mm.default, aten.bmm.default) and _suits(*arguments):
        put(graph, node, ops.fedkin.small_product.default, arguments)
    if node.target is not aten.addmm.default or not _suits(*arguments[1:]):
        return
    w, *factors = arguments
    if node.kwargs == {"alpha": -1} and _whole(w, node):
        put(graph, node, ops.fedkin.small_update.default, arguments)
    elif not node.kwargs:
        with graph.inserting_before(node):
            product = graph.call_function(ops.fedkin.small_product.default, tuple(factors))
        product.meta = dict(node.meta)
        put(graph, node, aten.add.Tensor, (product, w))


def _suits(a: Node, b: Node) -> bool:
    left, right = (node.meta.get("val") for node in (a, b))
    if not (cpu_float32(left) and cpu_float32(right)):
        return False
    inner = left.shape[-1]
    size = left.shape[-2] * inner * right.shape[-1]
    beside = right.stride(-1) == 1 or (right.stride(-2) == 1 and left.stride(-1) == 1)
    return 0 < size <= LARGEST and inner <= LONGEST and beside


def _whole(w: Node, result: Node) -> bool:
    """Whether w is not broadcast, and its rows lie one after the other."""
    value: Tensor = w.meta["val"]
    return value.is_contiguous() and value.shape == result.meta["val"].shape
