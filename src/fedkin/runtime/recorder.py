"""What a function of tensors does, as one flat graph of torch's operations.

``make_fx`` makes such graphs, too, and loads torch's compiler for it: more than a second, which
every short run, and every worker process, would spend on nothing else. ``flat_graph`` records the
same operations by itself. What it cannot record it leaves to ``make_fx``.
"""

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from importlib import import_module
from operator import getitem
from types import ModuleType
from typing import Any

import torch
from torch import Tensor
from torch.fx import Graph, GraphModule, Node
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_map

from fedkin.runtime.traceable import Untraceable, check_call

COMPILER = "torch._dynamo"


class NotRecorded(Exception):
    """Of a function that does more than call operations on plain tensors, or that failed."""


def flat_graph(run: Callable[..., Sequence[Tensor]], inputs: Sequence[Tensor]) -> GraphModule:
    """The operations of ``run(*inputs)``, which is called once.

    Args:
        run: A pure function of tensors.
        inputs: Calls of the graph have the same shapes and dtypes.

    Returns:
        The same operations in the same order; a node's ``meta["val"]`` is what came out of it.

    Raises:
        NotRecorded: ``make_fx`` may know how, or say what is wrong.
        Untraceable: It does not, for the operations depend on values.
    """
    recorder = _Recorder(inputs)
    try:
        with without_compiler(), _no_casts_kept(), recorder:
            outputs = run(*inputs)
        return recorder.ended(outputs)
    except Exception as error:
        if recorder.refused is not None:
            raise recorder.refused from None
        raise NotRecorded(str(error)) from error


class _Recorder(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Sees every operation below autograd and ``torch.func``, and what it is called with."""

    refused: Untraceable | None = None  # kept, for a model may go on after any exception

    def __init__(self, inputs: Sequence[Tensor]) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._graph = Graph()
        self._constants: dict[str, Tensor] = {}
        self._nodes: dict[int, Node] = {}
        self._alive: list[Tensor] = []  # an id is a tensor's as long as the tensor is there
        for number, leaf in enumerate(inputs):
            self._is(leaf, self._graph.placeholder(f"arg_{number}"))

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False  # else torch loads its compiler, to keep it away from the next method

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        if torch.Tag.data_dependent_output in func.tags:
            raise NotRecorded(f"{func} gives a value, which the graph would keep for ever")
        if func is torch.ops.aten.lift_fresh.default:
            func = torch.ops.aten.lift_fresh_copy.default  # a constant is not to be written into
        kwargs = kwargs or {}
        try:
            check_call(func, args, kwargs)
        except Untraceable as error:
            self.refused = error
            raise
        node_args, named = tree_map(self._known, (args, kwargs))
        node = self._graph.call_function(func, node_args, named)
        result = func(*args, **kwargs)
        self._came(result, node)
        return result

    def ended(self, outputs: Sequence[Tensor]) -> GraphModule:
        """The graph that returns these."""
        if self.refused is not None:
            raise self.refused
        self._graph.output(tuple(self._known(leaf) for leaf in outputs))
        return GraphModule(self._constants, self._graph)

    def _known(self, value: Any) -> Any:
        """The node of a tensor; one that came out of no operation is a constant."""
        if not isinstance(value, Tensor):
            return value
        if id(value) not in self._nodes:
            name = f"_tensor_constant{len(self._constants)}"
            self._constants[name] = value
            self._is(value, self._graph.get_attr(name))
        return self._nodes[id(value)]

    def _came(self, result: Any, node: Node) -> None:
        if isinstance(result, Tensor):
            self._is(result, node)
        elif isinstance(result, tuple | list):
            for place, part in enumerate(result):
                if part is not None:
                    self._came(part, self._graph.call_function(getitem, (node, place)))
        elif result is not None:
            raise NotRecorded(f"{node.target} gives {type(result).__name__}")

    def _is(self, leaf: Tensor, node: Node) -> None:
        if type(leaf) not in (Tensor, torch.nn.Parameter):
            raise NotRecorded(f"a tensor of the kind {type(leaf).__name__}")
        node.meta["val"] = leaf
        self._nodes[id(leaf)] = node
        self._alive.append(leaf)


@contextmanager
def _no_casts_kept() -> Iterator[None]:
    """Autocast keeps what it cast: nobody would see where that came from."""
    before = torch.is_autocast_cache_enabled()
    torch.set_autocast_cache_enabled(False)
    try:
        yield
    finally:
        torch.set_autocast_cache_enabled(before)


@contextmanager
def without_compiler() -> Iterator[None]:
    """``torch.func.grad`` asks torch's compiler to stand back, and so loads it. What was not loaded
    has nothing to stand back from.

    Yields:
        Nothing.
    """
    if COMPILER in sys.modules:
        yield
        return
    torch._dynamo = _NotLoaded(COMPILER)  # type: ignore[attr-defined,unused-ignore]
    try:
        yield
    finally:
        if isinstance(torch.__dict__.get("_dynamo"), _NotLoaded):
            del torch._dynamo  # type: ignore[attr-defined,unused-ignore]


class _NotLoaded(ModuleType):
    """In the place of torch's compiler: whatever else is asked of it loads it."""

    @property
    def compiled_autograd(self) -> Any:
        return _NotLoaded(f"{COMPILER}.compiled_autograd")

    def _disable(self) -> Any:
        return nullcontext()

    def __getattr__(self, name: str) -> Any:
        return getattr(import_module(self.__name__), name)
