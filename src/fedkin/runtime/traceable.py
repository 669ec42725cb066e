"""Whether a recorded step is the step of every batch, not only of the one that it was recorded
with.

A graph holds operations on tensors. What Python computes on its way, a count of rows or an
attribute that grows, stands in it as the number that it was. So such reads are looked for, and the
graph is called once on other values, beside the step itself: both must give the same bits.
"""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.fx import GraphModule, Node
from torch.fx.node import map_arg
from torch.overrides import TorchFunctionMode

from fedkin.core.rng import not_seeded, python_draws
from fedkin.runtime.generators import forked

ATEN = torch.ops.aten
MASKS = (torch.bool, torch.uint8)  # as an index, they choose as many rows as they are true
READ_MEMORY = frozenset(  # with no operation that a recorder would see
    {
        Tensor.tolist,
        Tensor.numpy,
        Tensor.__array__,
        Tensor.__dlpack__,
        Tensor.data_ptr,
        Tensor.storage,
        Tensor.untyped_storage,
    }
)


class Untraceable(Exception):
    """Why a graph would not do for other batches what the step does: "they …"."""


def confirmed(
    record: Callable[[], GraphModule],
    plain: Callable[..., Sequence[Tensor]],
    inputs: Sequence[Tensor],
) -> GraphModule:
    """The graph of a step, if it does for another batch what the step does.

    Args:
        record: Records the step on ``inputs``, drawing from forked generators.
        plain: The step itself.
        inputs: Its leaves, which get other values.

    Returns:
        What ``record`` made first.

    Raises:
        Untraceable: The step reads values, or does not do the same twice.
        FedkinError: It draws from Python's generators or NumPy's.
    """
    at_first = python_draws()
    graph = record()
    between = python_draws()
    constants = [(value, _writes(value)) for value in _constants(graph)]
    for leaf in inputs:
        _change(leaf)
    device = inputs[0].device
    with _Reads() as reads, forked(device):
        wanted = plain(*inputs)
    if at_first != between != python_draws():
        raise not_seeded("a step of this run")
    if reads.by is not None:
        raise Untraceable(f"they read values of the batch ({reads.by})")
    with forked(device), torch.no_grad():
        outputs = graph(*inputs)
    same = all(_same(mine, other) for mine, other in zip(outputs, wanted, strict=True))
    # not where a sum is made in another order: under autocast, or because torch is watched
    if not same and not _alike(graph, constants, record()):
        raise Untraceable(
            "a second pass is not like the first: forward reads values of the batch, or keeps "
            "something in Python"
        )
    return graph


def check_call(operation: Any, arguments: tuple[Any, ...], named: dict[str, Any]) -> None:
    """Refuse an operation whose call in a graph would not serve other batches.

    Args:
        operation: Of torch.
        arguments: What it is called with; of tensors the dtypes matter.
        named: Its keywords.

    Raises:
        Untraceable: The size of its result depends on values, or it draws from a generator that
            nobody seeds.
    """
    if named.get("generator") is not None:
        raise Untraceable(f"they draw from a generator of their own ({operation})")
    if torch.Tag.dynamic_output_shape in operation.tags and not _is_fixed(operation, arguments):
        raise Untraceable(f"they make tensors as large as values of the batch say ({operation})")


def check_calls(graph: GraphModule) -> GraphModule:
    """Refuse a graph with a call that ``check_call`` refuses.

    Args:
        graph: Its nodes have ``meta["val"]``.

    Returns:
        The same graph.

    Raises:
        Untraceable: A call's result depends on values, or draws from a generator of its own.
    """
    for node in graph.graph.nodes:
        if isinstance(node.target, torch._ops.OpOverload):
            check_call(
                node.target,
                map_arg(node.args, _value),
                map_arg(node.kwargs, _value),
            )
    return graph


def _value(node: Node) -> Any:
    return node.meta.get("val", node)


def _is_fixed(operation: Any, arguments: tuple[Any, ...]) -> bool:
    """Whether this call's result has one size after all."""
    return operation is ATEN.index.Tensor and not any(
        isinstance(one, Tensor) and one.dtype in MASKS for one in arguments[1]
    )


class _Reads(TorchFunctionMode):
    """Sees what is read out of a tensor's memory, and by what."""

    by: str | None = None

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        if func in READ_MEMORY:
            self.by = f"Tensor.{func.__name__}"
        return func(*args, **(kwargs or {}))


@torch.no_grad()
def _change(leaf: Tensor) -> None:
    """Other values in its place, of the same kind: classes stay classes, symbols symbols, also as
    whole numbers in floats, and a variance above 0; a rate of 0, behind which nothing could be
    seen, does not stay 0.
    """
    flat, size = leaf.flatten(), leaf.numel()
    # some of them several times, others never
    other = flat[torch.arange(size, device=leaf.device).square() % max(size, 1)]
    if leaf.is_floating_point() and (not _are_symbols(flat) or torch.equal(other, flat)):
        factors = torch.linspace(0.25, 1.75, size, dtype=leaf.dtype, device=leaf.device)
        other = flat.flip(0) * factors + 1 / 64
    leaf.copy_(other.view(leaf.shape))


def _are_symbols(flat: Tensor) -> bool:
    """Whether floats may be the tokens of a text, which an embedding has a row for: whole numbers,
    beyond the 0 and 1 of weights and masks.
    """
    return bool((flat == flat.round()).all() and (flat >= 0).all() and (flat >= 2).any())


def _constants(graph: GraphModule) -> list[Tensor]:
    return [getattr(graph, node.target) for node in graph.graph.nodes if node.op == "get_attr"]


def _writes(value: Tensor) -> int:
    """How often it has been written into."""
    return 0 if value.is_inference() else value._version


def _alike(graph: GraphModule, constants: list[tuple[Tensor, int]], again: GraphModule) -> bool:
    return graph.code == again.code and all(
        _writes(mine) == writes if mine is other else _same(mine, other)
        for (mine, writes), other in zip(constants, _constants(again), strict=True)
    )


def _same(mine: Tensor, other: Tensor) -> bool:
    """Bit by bit: a number that is not one is like itself."""
    if mine.dtype != other.dtype or mine.shape != other.shape:
        return False
    bits = (value.detach().contiguous().reshape(-1).view(torch.uint8) for value in (mine, other))
    return torch.equal(*bits)
