"""Which linear layers of a step need no gradient of each sample written out.

A linear layer's gradient of one sample is an outer product: of what enters the layer, and of the
slope of the sample's loss in what leaves it. Its norm is the product of two norms, and the sum of
clipped gradients is one matrix product (Goodfellow: Efficient per-example gradient computations,
2015). That holds where the layer's weights meet private samples in that layer alone; whoever else
uses them may not look at a sample. ``linear_layers`` finds out, by watching one pass.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

from fedkin.core.tree import Params

LINEAR = torch.nn.functional.linear
ADDED = frozenset({"add", "sub", "__add__", "__radd__", "__sub__", "__rsub__"})
PRIVATE, OF_WEIGHTS = 1, 2  # what a tensor depends on: a sample; weights, but by their layer


class Layer(NamedTuple):
    """Names of its weights [out, in] and its bias [out], None where it has none."""

    weight: str
    bias: str | None

    @property
    def names(self) -> tuple[str, ...]:
        """Of its parameters."""
        return (self.weight,) if self.bias is None else (self.weight, self.bias)


class Found(NamedTuple):
    """layers: linear ones, whose weights meet samples nowhere else. beside: whether terms without
    samples use these weights too.
    """

    layers: tuple[Layer, ...]
    beside: bool


class _Elsewhere(Exception):
    """Weights of a layer meet a sample outside of it."""


def linear_layers(
    function: Callable[[Params, Sequence[Any]], Tensor],
    w: Params,
    private: Sequence[Tensor],
    opened: Sequence[Any],
    known: Sequence[Tensor],
) -> Found:
    """The linear layers whose gradients of samples are outer products.

    Whatever is not surely so is left out: a tensor that nobody knows may depend on anything.

    Args:
        function: (w, opened) → the loss of one sample, and other terms.
        w: Parameters.
        private: The tensors of the sample.
        opened: Arguments with the sample.
        known: Tensors that depend on neither.

    Returns:
        The layers in the order of a pass.
    """
    layers = _once(function, w, opened)
    if not layers:
        return Found((), beside=False)
    names = {name for layer in layers for name in layer.names}
    flags = {id(tensor): 0 for tensor in [*known, *w.values()]}
    flags |= {id(tensor): PRIVATE for tensor in private}
    flags |= {id(w[name]): OF_WEIGHTS for name in names}
    watching = _Watching(flags, {id(w[layer.weight]) for layer in layers})
    try:
        with torch.random.fork_rng(devices=[]), watching:
            function(w, opened)
    except _Elsewhere:
        return Found((), beside=False)
    return Found(layers, watching.beside)


def _once(
    function: Callable[[Params, Sequence[Any]], Tensor], w: Params, opened: Sequence[Any]
) -> tuple[Layer, ...]:
    """Layers that a pass goes through once, with one row, of parameters that are nobody else's."""
    noting = _Noting({id(value): name for name, value in w.items()})
    with torch.random.fork_rng(devices=[]), noting:
        function(w, opened)
    return tuple(
        layer
        for layer in noting.layers
        if all(noting.used.count(name) == 1 for name in layer.names)
    )


def _arguments(args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[Any, Any, Any]:
    """(input, weight, bias) of a call of ``linear``."""
    named = {**dict(zip(("input", "weight", "bias"), args)), **kwargs}
    return named["input"], named["weight"], named.get("bias")


class _Noting(TorchFunctionMode):
    """Notes the linear layers that one row goes through, and the parameters of all linear layers,
    each time that they are used.
    """

    def __init__(self, names: Mapping[int, str]) -> None:
        super().__init__()
        self.names = names
        self.layers: list[Layer] = []
        self.used: list[str] = []

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func is LINEAR:
            entering, weight, bias = _arguments(args, kwargs or {})
            name = self.names.get(id(weight))
            of_bias = None if bias is None else self.names.get(id(bias))
            self.used += [one for one in (name, of_bias) if one is not None]
            one_row = entering.numel() == weight.shape[1]
            if name is not None and one_row and (bias is None or of_bias is not None):
                self.layers.append(Layer(name, of_bias))
        return func(*args, **(kwargs or {}))


class _Watching(TorchFunctionMode):
    """Follows what each tensor depends on. Raises _Elsewhere where a sample and a layer's weights
    meet otherwise than in the layer, or in a sum of terms.
    """

    def __init__(self, flags: dict[int, int], layers: set[int]) -> None:
        super().__init__()
        self.flags, self.layers, self.beside = flags, layers, False
        self.alive: list[Any] = []  # what has a flag keeps its id

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if func is LINEAR and id(_arguments(args, kwargs)[1]) in self.layers:
            given = _arguments(args, kwargs)[0]
            if self._of(given) & OF_WEIGHTS:
                raise _Elsewhere
            return self._noted(func(*args, **kwargs), PRIVATE)
        flags = 0
        for tensor in _tensors((args, kwargs)):
            flags |= self._of(tensor)
        name = getattr(func, "__name__", "")
        if flags and _in_place(name, kwargs):
            raise _Elsewhere
        made = func(*args, **kwargs)
        if not any(True for _ in _tensors(made)):
            return made  # a shape, a type: no numbers
        if flags == PRIVATE | OF_WEIGHTS and name not in ADDED:
            raise _Elsewhere
        self.beside |= bool(flags & OF_WEIGHTS)
        return self._noted(made, flags)

    def _of(self, tensor: Tensor) -> int:
        return self.flags.get(id(tensor), PRIVATE | OF_WEIGHTS)

    def _noted(self, made: Any, flags: int) -> Any:
        for tensor in _tensors(made):
            if self.flags.setdefault(id(tensor), flags) != flags and flags:
                raise _Elsewhere  # a result that was there before: something was written to
            self.alive.append(tensor)
        return made


def _in_place(name: str, kwargs: Mapping[str, Any]) -> bool:
    changes = name.endswith("_") and not name.endswith("__")
    return changes or name in ("__setitem__", "__set__") or kwargs.get("out") is not None


def _tensors(tree: Any) -> Iterator[Tensor]:
    if isinstance(tree, Tensor):
        yield tree
    elif isinstance(tree, Mapping):
        for part in tree.values():
            yield from _tensors(part)
    elif isinstance(tree, (tuple, list)):
        for part in tree:
            yield from _tensors(part)


class _Tapped(TorchFunctionMode):
    """Layers with other weights and biases, by the ids of those that a pass brings; keeps what
    enters them.
    """

    def __init__(self, others: Mapping[int, tuple[str, Tensor, Tensor]]) -> None:
        super().__init__()
        self.others = others
        self.entering: dict[str, Tensor] = {}

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func is LINEAR:
            entering, weight, _ = _arguments(args, kwargs or {})
            if id(weight) in self.others:
                name, weight, bias = self.others[id(weight)]
                self.entering[name] = entering
                return func(entering, weight) + bias
        return func(*args, **(kwargs or {}))


@contextmanager
def biased(
    layers: Sequence[Layer], own: Params, w: Params, biases: Mapping[str, Tensor]
) -> Iterator[dict[str, Tensor]]:
    """Inside, a pass with ``own`` goes through these layers with the weights of w and other biases.

    Args:
        layers: Some of w's.
        own: The parameters that the pass is given.
        w: Those whose weights are used.
        biases: By the names of the layers' weights.

    Yields:
        What entered each layer, by the same names.
    """
    known = {id(own[one.weight]): (one.weight, w[one.weight], biases[one.weight]) for one in layers}
    with _Tapped(known) as tapped:
        yield tapped.entering
