"""A recorded step whose convolutions have their channels last in memory, as a GPU's kernels take
them: else each brings its pictures into that order and back.
"""

import torch
from torch._ops import OpOverload
from torch.fx import GraphModule, Node

ATEN = torch.ops.aten
# where a convolution's arguments stand: strides, transposed, groups; in its backward pass
FORWARD, BACKWARD = (3, 6, 8), (4, 7, 9)
COPIES = (ATEN.lift_fresh_copy.default, ATEN.clone.default, ATEN._to_copy.default)
VIEWS = (ATEN.view.default, ATEN._unsafe_view.default)


def with_channels_last(graph: GraphModule) -> GraphModule:
    """The same step, computed in another order.

    Args:
        graph: A recorded step. It is changed where it has a plain convolution of pictures; those of
            several clients side by side are in groups, and stay as they are. So does a step that
            writes into what it has computed: a copy in another order would not see it.

    Returns:
        The same graph.
    """
    if any(_writes(node) for node in graph.graph.nodes):
        return graph
    laid: dict[Node, Node] = {}

    def laid_out(node: Node) -> Node:
        if node not in laid:
            with graph.graph.inserting_after(node):
                laid[node] = graph.graph.call_function(
                    ATEN.clone.default, (node,), {"memory_format": torch.channels_last}
                )
        return laid[node]

    for node in list(graph.graph.nodes):
        if _is_plain(node, ATEN.convolution.default, FORWARD):
            x, weight, *rest = node.args
            node.args = (laid_out(x), laid_out(weight), *rest)
        elif _is_plain(node, ATEN.convolution_backward.default, BACKWARD):
            gradient, x, weight, *rest = node.args
            node.args = (gradient, laid_out(x), laid_out(weight), *rest)
    if laid:
        _copying_views(graph)
        graph.recompile()
    return graph


def _writes(node: Node) -> bool:
    """Whether it changes a tensor that a convolution may have to do with: batch norm's counters of
    batches, which are constants, are none.
    """
    if not isinstance(node.target, OpOverload) or not node.target._schema.is_mutable:
        return False
    changed = node.args[0]
    while isinstance(changed, Node) and changed.target in COPIES:
        changed = changed.args[0]
    return not (isinstance(changed, Node) and changed.op == "get_attr")


def _is_plain(node: Node, target: object, places: tuple[int, int, int]) -> bool:
    """Whether it convolves pictures, all channels with all."""
    if node.target is not target:
        return False
    strides, transposed, groups = (node.args[place] for place in places)
    return isinstance(strides, list | tuple) and (len(strides), transposed, groups) == (2, False, 1)


def _copying_views(graph: GraphModule) -> None:
    """What was a view of pictures in order copies them where it must."""
    for node in graph.graph.nodes:
        if node.target in VIEWS:
            node.target = ATEN.reshape.default
