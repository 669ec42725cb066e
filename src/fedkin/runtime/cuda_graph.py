"""A prepared step as one call of a GPU: what it launches is captured once (a CUDA graph) and
replayed.

Operation by operation, a step of a small model is hundreds of launches of some µs each, between
which the GPU waits for Python.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor
from torch.fx import GraphModule, Node

from fedkin.runtime.generators import forked

Flat = Callable[..., Sequence[Tensor]]

ATEN = torch.ops.aten
FOLDED = (ATEN.lift_fresh_copy.default, ATEN._to_copy.default)


class Uncaptured(Exception):
    """Why a step could not be captured. It is slower then, not wrong."""


class Captures:
    """The CUDA graphs of one GPU, which are called in turn and share their memory.

    Args:
        device: The GPU.
    """

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._stream: Any = None
        self._pool: Any = None

    def of(self, run: Flat, inputs: Sequence[Tensor]) -> Flat:
        """``run`` as one CUDA graph.

        Args:
            run: A function of flat leaves that launches the same work at every call and reads no
                value.
            inputs: Leaves on the GPU; calls have the same shapes and dtypes.

        Returns:
            The same function. Its results are nobody else's: a later call leaves them alone.

        Raises:
            Uncaptured: ``run`` waits for the GPU, draws in main memory, allocates outside of torch,
                or does not fit.
        """
        with torch.inference_mode(False), torch.no_grad(), torch.cuda.device(self._device):
            # a stream of this GPU: torch's own for captures is the first GPU's that captured
            if self._stream is None:
                self._stream = torch.cuda.Stream()  # type: ignore[no-untyped-call]
            if self._pool is None:
                self._pool = torch.cuda.graph_pool_handle()
            static_inputs = [torch.empty_like(leaf).copy_(leaf) for leaf in inputs]
            try:
                with forked(self._device):
                    self._warm_up(run, static_inputs)
                    graph, results = self._captured(run, static_inputs)
            except RuntimeError as error:
                self._pool = None  # a capture that broke off may have left it unusable
                raise Uncaptured(f"{type(error).__name__}: {error}") from None
        groups = _alike(static_inputs)

        def replayed(*flat: Tensor) -> Sequence[Tensor]:
            with torch.cuda.device(self._device):
                for places in groups:
                    torch._foreach_copy_(
                        [static_inputs[at] for at in places], [flat[at] for at in places]
                    )
                graph.replay()
                return [leaf.clone() for leaf in results]

        return replayed

    def _warm_up(self, run: Flat, static_inputs: list[Tensor]) -> None:
        """Libraries get their memory and choose their kernels; then what no graph can hold is found
        before a capture breaks off.
        """
        current = torch.cuda.current_stream()
        self._stream.wait_stream(current)
        before = torch.default_generator.get_state()
        with torch.cuda.stream(self._stream):
            run(*static_inputs)
            with _no_waiting():
                run(*static_inputs)
        current.wait_stream(self._stream)
        if not torch.equal(before, torch.default_generator.get_state()):
            raise RuntimeError("the step draws in main memory: a graph would draw once for ever")

    def _captured(
        self, run: Flat, static_inputs: list[Tensor]
    ) -> tuple[torch.cuda.CUDAGraph, list[Tensor]]:
        graph = torch.cuda.CUDAGraph()
        # other clients' threads stand still, and are none of the capture's affair
        with torch.cuda.graph(
            graph, pool=self._pool, stream=self._stream, capture_error_mode="thread_local"
        ):
            results = list(run(*static_inputs))
        return graph, results


@contextmanager
def _no_waiting() -> Iterator[None]:
    """Raises RuntimeError where something waits for the GPU."""
    before = torch.cuda.get_sync_debug_mode()
    torch.cuda.set_sync_debug_mode("error")
    try:
        yield
    finally:
        torch.cuda.set_sync_debug_mode(before)


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

    Returns:
        The same graph.
    """
    values: dict[Node, Tensor] = {}
    for node in list(graph.graph.nodes):
        if node.op == "get_attr":
            values[node] = getattr(graph, node.target)
        elif node.target in FOLDED and node.args[0] in values and _is_only_read(node.args[0]):
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
                held.meta["val"] = value
                # a copy for each call, which may write into it
                copied = graph.graph.call_function(ATEN.clone.default, (held,))
            copied.meta = dict(node.meta)
            node.replace_all_uses_with(copied)
    graph.graph.eliminate_dead_code()
    graph.recompile()
    return graph


def _is_only_read(source: Node) -> bool:
    """Whether nothing can have written into it, or into a view of it, before it is copied."""
    return all(user.target in FOLDED for user in source.users)
