"""Trace a step once, compile it where that pays, replay it: the hot loop under every method.

A step is a pure function of tensors for ONE client. Its forward, backward and update are recorded
as one flat graph, which is then called with plain tensors and no autograd. Where Inductor is to
turn it into machine code, ``make_fx`` records it once more, and names the code that is kept.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.fx import GraphModule

from fedkin.core.errors import FedkinError, first_line, named_line
from fedkin.core.model import Model
from fedkin.core.ops import ScanStep
from fedkin.core.settings.choices import Compiling
from fedkin.core.tree import Tree, fill, leaves, map_tree, named_leaves, row
from fedkin.runtime.channels_last import with_channels_last
from fedkin.runtime.code_cache import compiler_folder
from fedkin.runtime.compile import Flat, Record, Uncompiled, compiled, named
from fedkin.runtime.cuda_graph import Captures, Uncaptured, with_constants_there
from fedkin.runtime.device import CPU, moved, repeatable
from fedkin.runtime.generators import forked
from fedkin.runtime.prepared import Prepared, retraced_note
from fedkin.runtime.recorder import NotRecorded, flat_graph, without_compiler
from fedkin.runtime.traceable import Untraceable, check_calls, confirmed

# Compiling a step costs seconds; each replay then saves about 1 µs per recorded operation and more
# where operations are large. Counted, never timed, so that every machine and every worker decides
# alike: 3 s / 1 µs.
WORTH_COMPILING = 3_000_000

# A call costs some 20 µs whatever is in it, and compiling takes longer with every operation.
SIZES = (8, 4)  # steps of one call, where …
# … they have no more operations together, and no convolution, beside which 20 µs are nothing
LARGEST = 400


def kind_of(step: ScanStep, model: Model, arguments: Tree) -> Any:
    """Equal for calls of a step that one graph serves: the same step, structure, shapes
    and dtypes.

    Args:
        step: Of one client.
        model: Whose parameters it moves.
        arguments: The carry, a batch, and what is the same in all steps.

    Returns:
        A key of a dictionary.
    """
    return (
        step,
        model.name,
        tuple((path, tuple(leaf.shape), leaf.dtype) for path, leaf in named_leaves(arguments)),
    )


class Replay:
    """A step, prepared for one set of shapes: a function of its flat leaves that returns flat
    leaves. Where it is compiled, both of its functions are made when they are first needed.

    Args:
        one: One step.
        several: ``size`` steps in one call; None: there is no such function.
        size: How many.
        recorded: Whether it does the same operations whatever the values.
    """

    def __init__(
        self, one: Flat, several: Flat | None = None, size: int = 1, recorded: bool = True
    ) -> None:
        self.one, self.several, self.size, self.recorded = one, several, size, recorded

    def __call__(self, *flat: Tensor) -> Sequence[Tensor]:
        return self.one(*flat)

    def over(
        self, state: Sequence[Tensor], block: Sequence[Tensor], tail: Sequence[Tensor]
    ) -> Sequence[Tensor]:
        """The state after each batch of a block, whose leaves are stacked along a first axis.

        Args:
            state: The leaves of the carry.
            block: The leaves of a few batches, [steps, …] each.
            tail: The leaves of what is the same in all steps.

        Returns:
            The leaves of the carry, after the last of them.
        """
        state, block, tail = ([leaf.contiguous() for leaf in part] for part in (state, block, tail))
        done = 0
        if self.several is not None and len(block[0]) >= self.size:
            done = len(block[0]) // self.size * self.size
            groups = (leaf[:done].view(-1, self.size, *leaf.shape[1:]).unbind(0) for leaf in block)
            for batches in zip(*groups, strict=True):
                state = self.several(*state, *batches, *tail)
        for batch in zip(*(leaf[done:].unbind(0) for leaf in block), strict=True):
            state = self.one(*state, *batch, *tail)
        return state


class Runtime:
    """The steps of one host, prepared once per (step, structure, shapes) and replayed. ``said``
    collects what the run record should tell, once each.

    Args:
        mode: "always" compiles, "trace" replays the recorded graph, "never" runs plain autograd
            each time (the reference). "auto" compiles, on a CPU, a graph if ``replays`` times its
            operations exceeds ``WORTH_COMPILING``.
        replays: How often the whole run will call a step, over all hosts.
        device: Where steps compute; what they start from and what they leave is in main memory.
    """

    def __init__(
        self, mode: Compiling = "trace", replays: int = 0, device: torch.device = CPU
    ) -> None:
        self.mode = mode
        self.replays = replays
        self.device = device
        self.graphs = 0
        self.said: list[str] = []
        self._ready: Prepared[Replay] = Prepared()
        self._captures = Captures(device)
        repeatable(device)

    def scan(
        self,
        step: ScanStep,
        model: Model,
        carry: Tree,
        blocks: Iterable[Tree],
        constants: tuple[Tree, ...],
    ) -> Tree:
        """carry ← step(model, carry, batch, *constants) for every batch; blocks are batches along a
        first axis.

        Args:
            step: A pure function of one client's step.
            model: Whose parameters it moves.
            carry: What goes from step to step.
            blocks: Trees of batches along a first axis, a few steps each.
            constants: What is the same in all steps.

        Returns:
            The carry after the last step, in main memory.
        """
        constants = self._there(constants)
        tail = leaves(constants)
        state: Sequence[Tensor] = leaves(self._there(carry))
        replay: Replay | None = None
        for block in blocks:
            here = self._there(block)
            replay = replay or self.prepare(
                step, model, (fill(carry, iter(state)), row(here, 0), *constants)
            )
            with torch.inference_mode():
                state = replay.over(state, leaves(here), tail)
        ended = fill(carry, iter(state))
        return ended if self.device == CPU else moved(ended, CPU)

    def _there(self, tree: Tree) -> Tree:
        return tree if self.device == CPU else moved(tree, self.device)

    def prepare(self, step: ScanStep, model: Model, arguments: Tree) -> Replay:
        """``step(model, *arguments)``, arguments being (carry, batch, constants…), to be called
        with their leaves.

        Args:
            step: A pure function of one client's step.
            model: Whose parameters it moves.
            arguments: The carry, a batch, and what is the same in all steps.

        Returns:
            What was prepared, the same one for equal shapes.
        """
        key = kind_of(step, model, arguments)
        if key not in self._ready and self._ready.keep(key, self._build(step, model, arguments)):
            self.say(retraced_note(step))
        return self._ready[key]

    def _build(self, step: ScanStep, model: Model, arguments: Tree) -> Replay:
        def run(*flat: Tensor) -> tuple[Tensor, ...]:
            return _laid_out(_next(step, model, *fill(arguments, iter(flat))))

        if self.mode == "never":
            return Replay(_plain(run), recorded=False)
        inputs = [leaf.clone() for leaf in leaves(arguments)]
        try:
            graph = _operations(run, inputs)
        except FedkinError:
            raise
        # a user's model may branch on values: any error means "not traceable"
        except Exception as error:
            with forked(self.device):  # a genuine mistake raises here, with its own message
                _plain(run)(*(leaf.clone() for leaf in leaves(arguments)))
            why = str(error) if isinstance(error, Untraceable) else named_line(error)
            self.say(f"steps run without tracing: {why}")
            return Replay(_plain(run), recorded=False)
        self.graphs += 1
        operations = sum(node.op == "call_function" for node in graph.graph.nodes)
        compiles = self.mode == "always" or (
            self.mode == "auto" and self._worth_compiling(operations)
        )
        if compiles:
            graph = _recorded(run, inputs)
        if self.device != CPU:
            graph = with_constants_there(graph, self.device)
            if not compiles:  # Inductor has an order of its own
                graph = with_channels_last(graph)
        one: Flat = graph.forward
        if compiles:
            one = _Late(lambda flat: self._compiled(named(graph), lambda: graph, flat))
        if self.device != CPU or not compiles:  # there a call costs nothing: no need of several
            return Replay(self._captured(one))
        size = (
            1
            if _convolves(graph)
            else next((size for size in SIZES if size * operations <= LARGEST), 1)
        )
        if size == 1:
            return Replay(one)
        several = _several(step, model, arguments, size)
        name = named(graph, size, [len(leaves(part)) for part in arguments])
        return Replay(
            one,
            _Late(lambda flat: self._compiled(name, lambda: _recorded(several, flat), flat)),
            size,
        )

    def _worth_compiling(self, operations: int) -> bool:
        """Not on a GPU: CUDA graphs are most of the gain, and a compiler that times its ways to
        compute may choose another one, with other bits, in the next process.
        """
        return self.device == CPU and self.replays * operations >= WORTH_COMPILING

    def _compiled(self, name: str, record: Record, inputs: Sequence[Tensor]) -> Flat:
        try:
            return compiled(name, record, inputs)
        except Uncompiled as error:
            self.say(f"steps replay uncompiled: {first_line(error)}")
            return record().forward

    def _captured(self, run: Flat) -> Flat:
        """As one call of the GPU, where it computes on one."""
        if self.device.type != "cuda":
            return run

        def made(flat: list[Tensor]) -> Flat:
            try:
                return self._captures.of(run, flat)
            except Uncaptured as error:
                self.say(f"steps are no CUDA graphs: {first_line(error)}")
                return run

        return _Late(made)

    def say(self, sentence: str) -> None:
        """Something for the record, which has it once.

        Args:
            sentence: A text; one that is there already is not added.
        """
        if sentence not in self.said:
            self.said.append(sentence)


class _Late:
    """A function that is made when it is first called, for inputs like those. It keeps its maker,
    and with it the recorded graph whose constants a CUDA graph reads.
    """

    def __init__(self, make: Callable[[list[Tensor]], Flat]) -> None:
        self._make = make
        self._made: Flat | None = None

    def __call__(self, *flat: Tensor) -> Sequence[Tensor]:
        if self._made is None:
            with torch.inference_mode(False):
                self._made = self._make([leaf.clone() for leaf in flat])
        return self._made(*flat)


def _convolves(graph: GraphModule) -> bool:
    return any(node.target is torch.ops.aten.convolution.default for node in graph.graph.nodes)


def _several(step: ScanStep, model: Model, arguments: Tree, size: int) -> Flat:
    """``size`` steps, one after the other, as a function of flat leaves: those of the batch have a
    first axis.
    """

    def run(*flat: Tensor) -> tuple[Tensor, ...]:
        state, stacked, *fixed = fill(arguments, iter(flat))
        for number in range(size):
            state = _next(step, model, state, row(stacked, number), *fixed)
        return _laid_out(state)

    return run


def _next(step: ScanStep, model: Model, carry: Tree, *rest: Tree) -> Tree:
    """The carry after a step, in its own dtypes: a rate, which is a double, widens what has no axes
    as it has none (a learned temperature).
    """
    moved = step(model, carry, *rest)
    return map_tree(lambda new, old: new.to(old.dtype), moved, carry)


def _laid_out(state: Tree) -> tuple[Tensor, ...]:
    """The leaves, contiguous: compiled code takes its own results again, and reads them as it read
    its first inputs.
    """
    return tuple(leaf.contiguous() for leaf in leaves(state))


def _operations(run: Flat, inputs: Sequence[Tensor]) -> GraphModule:
    """What is replayed, and counted. It holds no tensor but its constants."""

    def plain(*flat: Tensor) -> Sequence[Tensor]:
        with without_compiler():
            return _plain(run)(*flat)

    try:
        return confirmed(lambda: _flat(run, inputs), plain, inputs)
    except NotRecorded:
        return confirmed(lambda: _tidied(check_calls(_by_make_fx(run, inputs))), plain, inputs)


def _flat(run: Flat, inputs: Sequence[Tensor]) -> GraphModule:
    with forked(inputs[0].device):  # the step is run: its dropout must not draw for real
        graph = _tidied(flat_graph(run, inputs))
    for node in graph.graph.nodes:
        node.meta.clear()
    return graph


def _recorded(run: Flat, inputs: Sequence[Tensor]) -> GraphModule:
    """The same operations, as Inductor takes them."""
    return _tidied(_by_make_fx(run, inputs))


def _by_make_fx(run: Flat, inputs: Sequence[Tensor]) -> GraphModule:
    compiler_folder()  # before torch's compiler is imported, which chooses a folder of its own
    from torch.fx.experimental.proxy_tensor import make_fx  # late, for it loads the compiler

    with forked(inputs[0].device):
        return make_fx(run)(*inputs)


def _tidied(graph: GraphModule) -> GraphModule:
    _forget_values(graph)
    graph.graph.eliminate_dead_code()
    graph.recompile()
    return graph


def _forget_values(graph: GraphModule) -> None:
    """A backward pass begins with ones like the loss: only that keeps the loss's value, which no
    step returns.
    """
    for node in list(graph.graph.nodes):
        if node.target is torch.ops.aten.ones_like.default:
            like = node.args[0].meta["val"]
            with graph.graph.inserting_before(node):
                ones = graph.graph.call_function(
                    torch.ops.aten.ones.default,
                    (list(like.shape),),
                    {"dtype": node.kwargs.get("dtype") or like.dtype, "device": like.device},
                )
            ones.meta = dict(node.meta)
            node.replace_all_uses_with(ones)


def _plain(run: Flat) -> Flat:
    """Autograd cannot save tensors that were made in inference mode: hand it ordinary ones."""

    def call(*flat: Tensor) -> Sequence[Tensor]:
        with torch.inference_mode(False), torch.no_grad():
            return [
                leaf.detach() for leaf in run(*(x.clone() if x.is_inference() else x for x in flat))
            ]

    return call
