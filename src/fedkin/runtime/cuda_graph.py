"""A prepared step as one call of a GPU: what it launches is captured once (a CUDA graph) and
replayed.

Operation by operation, a step of a small model is hundreds of launches of some µs each, between
which the GPU waits for Python.
"""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.fx import GraphModule, Node

from fedkin.runtime.generators import forked

Flat = Callable[..., Sequence[Tensor]]

WARM_UPS = 2  # calls in which libraries get their memory and choose their kernels
ATEN = torch.ops.aten
FOLDED = (ATEN.lift_fresh_copy.default, ATEN._to_copy.default)


class Uncaptured(Exception):
    """Why a step could not be captured. It is slower then, not wrong."""


def captured(run: Flat, inputs: Sequence[Tensor], pool: Any) -> Flat:
    """``run`` as one CUDA graph.

    Args:
        run: A function of flat leaves that launches the same work at every call and reads no value.
        inputs: Leaves on one GPU; calls have the same shapes and dtypes.
        pool: ``torch.cuda.graph_pool_handle()``: memory of functions that are called in turn.

    Returns:
        The same function. Its results are nobody else's: a later call leaves them alone.

    Raises:
        Uncaptured: ``run`` waits for the GPU, allocates outside of torch, or does not fit.
    """
    device = inputs[0].device
    with torch.inference_mode(False), torch.no_grad(), torch.cuda.device(device):
        given = [torch.empty_like(leaf).copy_(leaf) for leaf in inputs]
        try:
            with forked(device):
                graph, results = _capture(run, given, pool)
        except RuntimeError as error:
            raise Uncaptured(f"{type(error).__name__}: {error}") from None
    groups = _alike(given)

    def replayed(*flat: Tensor) -> Sequence[Tensor]:
        with torch.cuda.device(device):
            for places in groups:
                torch._foreach_copy_([given[at] for at in places], [flat[at] for at in places])
            graph.replay()
            return [leaf.clone() for leaf in results]

    return replayed


def _capture(
    run: Flat, given: list[Tensor], pool: Any
) -> tuple[torch.cuda.CUDAGraph, list[Tensor]]:
    stream = torch.cuda.Stream()  # type: ignore[no-untyped-call]
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(WARM_UPS):
            run(*given)
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    # other clients' threads stand still, and are none of the capture's affair
    with torch.cuda.graph(graph, pool=pool, capture_error_mode="thread_local"):
        results = list(run(*given))
    return graph, results


def _alike(leaves: Sequence[Tensor]) -> list[list[int]]:
    """Places of equal dtypes, which one launch copies."""
    groups: dict[torch.dtype, list[int]] = {}
    for place, leaf in enumerate(leaves):
        groups.setdefault(leaf.dtype, []).append(place)
    return list(groups.values())


def with_constants_there(graph: GraphModule, device: torch.device) -> GraphModule:
    """The graph, whose constants lie on ``device`` if it would carry them there at each call: a
    capture must not wait for main memory.

    Args:
        graph: A recorded step. It is changed.
        device: Where it computes.
    """
    values: dict[Node, Tensor] = {}
    for node in list(graph.graph.nodes):
        if node.op == "get_attr":
            values[node] = getattr(graph, node.target)
        elif node.target in FOLDED and node.args[0] in values:
            values[node] = node.target(values[node.args[0]], *node.args[1:], **node.kwargs)
    carried = [
        (node, value) for node, value in values.items() if node.target is ATEN._to_copy.default
    ]
    for number, (node, value) in enumerate(carried):
        if value.device.type == device.type:  # "cuda" is "cuda:0", and yet not equal to it
            name = f"_constant_there{number}"
            graph.register_buffer(name, value.detach(), persistent=False)
            with graph.graph.inserting_before(node):
                held = graph.graph.get_attr(name)
                # a copy for each call, which may write into it
                copied = graph.graph.call_function(ATEN.clone.default, (held,))
            copied.meta = dict(node.meta)
            node.replace_all_uses_with(copied)
    graph.graph.eliminate_dead_code()
    graph.recompile()
    return graph
