"""What a method multiplies while it runs: every one of its steps is watched, and a step of a scan,
which does the same for batches of the same shapes, is counted once and then told by its number.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import chain
from typing import Any

import torch
from torch import Tensor
from torch._ops import OpOverload
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import flop_registry

from fedkin.core.method import Method
from fedkin.core.model import Model
from fedkin.core.ops import ScanStep
from fedkin.core.tree import Tree, leaves, map_tree, row
from fedkin.engine.contexts import LocalData, ServerTools
from fedkin.runtime.generators import forked
from fedkin.runtime.recorder import without_compiler
from fedkin.runtime.replay import Runtime, kind_of

COMPOSITE = torch._C.DispatchKey.CompositeImplicitAutograd
STEPS = ("setup_message", "setup_update", "client_update", "server_update", "finalize")


class Multiplied(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """What torch multiplies inside, by torch's own formulas: the numbers of its
    ``FlopCounterMode``, which tells them by modules too and takes twice as long with small tensors.

    Args:
        known: What calls with the same shapes came to; those inside are added. None: nothing yet.
    """

    def __init__(self, known: dict[Any, int] | None = None) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.total = 0
        self._told = {} if known is None else known  # of products of the same shapes

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False  # else torch loads its compiler, and asks it before every operation

    def __torch_dispatch__(
        self, func: OpOverload, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        """Run one call of torch, and count it."""
        kwargs = kwargs or {}
        formula, has_parts = _known(func)
        if has_parts:
            with self:
                return func._op_dk(COMPOSITE, *args, **kwargs)
        made = func(*args, **kwargs)
        if formula is not None:
            alike = (func, _facts((*args, *kwargs.items())))
            if alike not in self._told:
                self._told[alike] = formula(*args, **kwargs, out_val=made)
            self.total += self._told[alike]
        return made


def _facts(given: Any) -> Any:
    """What a formula goes by: shapes, and whatever else is no tensor."""
    if isinstance(given, Tensor):
        return given.shape
    return tuple(map(_facts, given)) if isinstance(given, list | tuple) else given


@cache
def _known(func: OpOverload) -> tuple[Callable[..., int] | None, bool]:
    """The formula of a product, and whether torch makes one call of several, as linear is without
    autograd: a product and a sum. A few of these torch has in Python as well, for its compiler:
    they are slower, and a GRU has other bits there.
    """
    parts = torch._C._dispatch_has_kernel_for_dispatch_key(func._name, COMPOSITE)
    return flop_registry.get(func._overloadpacket), parts


@dataclass
class Counter:
    """``total``: FLOPs of matrix products and convolutions so far, as torch counts them: two for a
    multiplication and its addition.
    """

    total: int = 0
    kinds: dict[Any, int] = field(default_factory=dict)  # of one step of a scan
    products: dict[Any, int] = field(default_factory=dict)  # of one call of torch
    _mode: Multiplied | None = None

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Everything inside counts.

        Yields:
            Nothing.
        """
        self._begin()
        try:
            yield
        finally:
            self._end()

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Nothing inside counts, and nothing is slowed down.

        Yields:
            Nothing.
        """
        self._end()
        try:
            yield
        finally:
            self._begin()

    def _begin(self) -> None:
        self._mode = Multiplied(self.products)
        self._mode.__enter__()  # type: ignore[no-untyped-call]

    def _end(self) -> None:
        assert self._mode is not None
        self._mode.__exit__(None, None, None)  # type: ignore[no-untyped-call]
        self.total += self._mode.total
        self._mode = None


@dataclass(frozen=True)
class CountedScans:
    """A runtime whose scans add what their steps multiply: replayed and compiled ones tell nobody
    by themselves.
    """

    inner: Runtime
    counter: Counter

    @property
    def said(self) -> list[str]:
        """What the run record should tell."""
        return self.inner.said

    def say(self, sentence: str) -> None:
        """Something for the record.

        Args:
            sentence: A text.
        """
        self.inner.say(sentence)

    def scan(
        self,
        step: ScanStep,
        model: Model,
        carry: Tree,
        blocks: Iterable[Tree],
        constants: tuple[Tree, ...],
    ) -> Tree:
        """As the runtime's own, whose result it is.

        Args:
            step: A pure function of one client's step.
            model: Whose parameters it moves.
            carry: What goes from step to step.
            blocks: Trees of batches along a first axis.
            constants: What is the same in all steps.

        Returns:
            The carry after the last step.
        """
        rest = iter(blocks)
        first = next(rest, None)
        if first is None:
            return carry
        whole, arguments = chain([first], rest), (carry, row(first, 0), *constants)
        with self.counter.paused():
            recorded = self.inner.prepare(step, model, arguments).recorded
        if not recorded:  # it may read values: it runs by autograd, which is watched as it is
            return self.inner.scan(step, model, carry, whole, constants)
        counted_blocks = self._told(whole, self._of_one(step, model, arguments))
        with self.counter.paused():
            return self.inner.scan(step, model, carry, counted_blocks, constants)

    def _told(self, blocks: Iterable[Tree], each: int) -> Iterator[Tree]:
        for block in blocks:
            self.counter.total += each * len(leaves(block)[0])
            yield block

    def _of_one(self, step: ScanStep, model: Model, arguments: Tree) -> int:
        kind = kind_of(step, model, arguments)
        kinds = self.counter.kinds
        if kind not in kinds:
            once = Counter()
            with self.counter.paused(), forked(self.inner.device), torch.inference_mode(False):
                copies = map_tree(lambda leaf: leaf.clone(), arguments)
                with torch.no_grad(), without_compiler(), once.watching():
                    step(model, *copies)
            kinds[kind] = once.total
        return kinds[kind]


def counted(method: Method) -> tuple[Method, Counter]:
    """The method, and what its steps have multiplied so far. It does what it did, bit by bit.

    Args:
        method: Whose steps run in this process.

    Returns:
        The same method but for its steps, and their counter.
    """
    counter = Counter()

    def counting(step: Callable[..., Any]) -> Callable[..., Any]:
        def made(*arguments: Any) -> Any:
            watched = [_watched(one, counter) for one in arguments]
            with counter.watching():
                return step(*watched)

        return made

    steps = {name: getattr(method, name) for name in STEPS}
    counters: dict[str, Any] = {name: counting(step) for name, step in steps.items() if step}
    return method._replace(**counters), counter


def _watched(context: Any, counter: Counter) -> Any:
    """A client's or the server's tools, whose scans are counted."""
    if not isinstance(context, LocalData | ServerTools) or not isinstance(context.runtime, Runtime):
        return context
    return replace(context, runtime=CountedScans(context.runtime, counter))
