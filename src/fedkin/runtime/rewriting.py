"""What the kinds of fedkin's own operators have in common: which tensors they take, and how a node
takes the place of another.
"""

from typing import Any, TypeGuard

import torch
from torch import Tensor
from torch.fx import Graph, Node

FEW = 16  # channels, from which on a library's vectors are full: it may lay them side by side


def cpu_float32(tensor: Any) -> TypeGuard[Tensor]:
    """Whether it is a tensor of float32 in main memory, with something in it.

    Args:
        tensor: Of a node's facts, or None.

    Returns:
        False of anything else.
    """
    if not isinstance(tensor, Tensor) or tensor.layout is not torch.strided:
        return False
    return tensor.device.type == "cpu" and tensor.dtype == torch.float32 and tensor.numel() > 0


def contiguous_float32(tensor: Any) -> TypeGuard[Tensor]:
    """Whether it is such a tensor, whose numbers lie row by row.

    Args:
        tensor: Of a node's facts, or None.

    Returns:
        False of anything else.
    """
    return cpu_float32(tensor) and tensor.is_contiguous()


def put(graph: Graph, node: Node, operator: Any, arguments: tuple[Any, ...]) -> Node:
    """The call of an operator in the place of a node.

    Args:
        graph: Which is changed.
        node: Whose place is taken.
        operator: Of torch's library.
        arguments: Its arguments.

    Returns:
        The new node.
    """
    with graph.inserting_before(node):
        made = graph.call_function(operator, arguments)
    made.meta = dict(node.meta)
    node.replace_all_uses_with(made)
    return made
