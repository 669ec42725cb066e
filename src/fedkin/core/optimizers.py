"""What a client's gradient steps are made with: SGD, Adam or AdamW, as ``torch.optim`` has them.

A method says ``descend(w, slope, rate)`` and knows nothing of it. ``scan`` carries the optimizer's
state beside the method's own carry, so that the step stays pure: traced, compiled and vmapped.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, NamedTuple

import torch
from torch import Tensor

from fedkin.core.settings.choices import ClientOptimizer
from fedkin.core.tree import Params, Tree, is_buffer, leaves, zeros

# [server] optimizer by the names of its papers (Hsu et al., 2019; Reddi et al., 2021)
AT_SERVER = {
    "fedavgm": "momentum",
    "fedadagrad": "adagrad",
    "fedadam": "adam",
    "fedyogi": "yogi",
}


class Optimizer(NamedTuple):
    """[train] optimizer and its numbers; those of the default are plain SGD.

    clip: the largest norm of a step's gradient, over all weights that the step moves; None: any.
    decay_biases: whether weight_decay is of parameters called "bias", too.
    """

    name: ClientOptimizer = "sgd"
    momentum: float = 0.0
    nesterov: bool = False
    betas: tuple[float, float] = (0.9, 0.999)
    eps: float = 1e-8
    weight_decay: float = 0.0
    decay_biases: bool = True
    clip: float | None = None


PLAIN = Optimizer()


def fresh(optimizer: Optimizer, w: Params) -> Tree:
    """The state before the first step.

    Args:
        optimizer: Whose state it is.
        w: The parameters that it moves; running statistics have no state.

    Returns:
        {} for SGD without momentum, else zeros like the weights, and the number of steps for Adam.
    """
    if optimizer.name == "sgd":
        return {"momentum": zeros(w)} if optimizer.momentum else {}
    return {"mean": zeros(w), "square": zeros(w), "steps": torch.zeros((), dtype=torch.float64)}


def stepped(
    optimizer: Optimizer, w: Params, slope: Params, rate: float | Tensor, state: Tree
) -> tuple[Params, Tree]:
    """One step.

    Args:
        optimizer: Which one.
        w: Parameters, of any shapes; running statistics among them take their refreshed values.
        slope: The gradient at w, in the same structure.
        rate: The learning rate.
        state: As ``fresh`` or the step before left it.

    Returns:
        The parameters and the state after it, as ``torch.optim.SGD``, ``Adam`` and ``AdamW`` have
        them after ``torch.nn.utils.clip_grad_norm_``.
    """
    weights = {name: value for name, value in w.items() if not is_buffer(name)}
    g = _clipped({name: slope[name] for name in weights}, optimizer.clip)
    decay = {
        name: optimizer.weight_decay if optimizer.decay_biases or not _is_bias(name) else 0.0
        for name in weights
    }
    if optimizer.name == "adamw":
        weights = {n: v * (1 - rate * decay[n]) if decay[n] else v for n, v in weights.items()}
    else:
        g = {n: s + decay[n] * weights[n] if decay[n] else s for n, s in g.items()}
    if optimizer.name == "sgd":
        along, state = _with_momentum(optimizer, g, state)
    else:
        along, state = _adapted(optimizer, g, state)
    moved = {name: value - rate * along[name] for name, value in weights.items()}
    return {name: moved.get(name, slope[name]) for name in w}, state


def _with_momentum(optimizer: Optimizer, g: Params, state: Tree) -> tuple[Params, Tree]:
    if not optimizer.momentum:
        return g, state
    kept = {name: optimizer.momentum * m + g[name] for name, m in state["momentum"].items()}
    if optimizer.nesterov:
        return {name: g[name] + optimizer.momentum * m for name, m in kept.items()}, {
            "momentum": kept
        }
    return kept, {"momentum": kept}


def _adapted(optimizer: Optimizer, g: Params, state: Tree) -> tuple[Params, Tree]:
    """Adam's direction m̂ / (√v̂ + ε) (Kingma & Ba, 2015, Algorithm 1)."""
    first, second = optimizer.betas
    steps = state["steps"] + 1
    mean = {n: first * m + (1 - first) * g[n] for n, m in state["mean"].items()}
    square = {n: second * v + (1 - second) * g[n].square() for n, v in state["square"].items()}
    left, root = 1 - first**steps, (1 - second**steps).sqrt()
    along = {n: m / left / (square[n].sqrt() / root + optimizer.eps) for n, m in mean.items()}
    return along, {"mean": mean, "square": square, "steps": steps}


def _clipped(g: Params, most: float | None) -> Params:
    if most is None or not g:
        return g
    norm = torch.stack([value.square().sum() for value in g.values()]).sum().sqrt()
    factor = (most / (norm + 1e-6)).clamp(max=1.0)  # as torch.nn.utils.clip_grad_norm_
    return {name: factor * value for name, value in g.items()}


def _is_bias(name: str) -> bool:
    return name.rpartition(".")[2] == "bias"


class Descents:
    """The descents of one step: each variable's state, under the name that ``descend`` gives it.

    Args:
        optimizer: What [train] asks for.
        states: {variable: its state}; None: nothing is computed, and what is descended is noted
            with its first state.
    """

    def __init__(self, optimizer: Optimizer, states: Tree | None) -> None:
        self.optimizer = optimizer
        self.sought = states is None
        self.states: dict[str, Tree] = dict(states or {})

    def descend(self, w: Params, slope: Params, rate: float | Tensor, of: str) -> Params:
        """``stepped`` from the variable's state, which is kept.

        Args:
            w: Parameters.
            slope: The gradient at w.
            rate: The learning rate.
            of: Which variable of the step it is.

        Returns:
            The parameters after the step.
        """
        if self.sought:
            self.states.setdefault(of, fresh(self.optimizer, w))
            return w
        moved, self.states[of] = stepped(self.optimizer, w, slope, rate, self.states[of])
        return moved


_current: ContextVar[Descents | None] = ContextVar("descents", default=None)


def current() -> Descents | None:
    """The descents of the step that is being made.

    Returns:
        None where it is plain SGD's.
    """
    return _current.get()


@contextmanager
def making(descents: Descents | None) -> Iterator[None]:
    """``descend`` of the step made meanwhile is that of ``descents``.

    Args:
        descents: Of the step that is made; None for plain SGD.

    Yields:
        Nothing: what is inside the ``with`` is the making.
    """
    token = _current.set(descents)
    try:
        yield
    finally:
        _current.reset(token)


class Memory:
    """The states of a client's optimizer that outlast a round, one for each scan of batches.
    ``part`` says of which part of the client's work its scans are; "" where the work is one.

    Args:
        before: {name of a scan: state} as the last round left them.
    """

    def __init__(self, before: Mapping[str, Tree]) -> None:
        self.part = ""
        self._before = before
        self._walks: dict[str, int] = {}
        self.after: dict[str, Tree] = dict(before)

    def name(self, step: Any) -> str:
        """What the next scan of a step is called: the part of the work, its function, its number.

        Args:
            step: A function, or an object that can be called.

        Returns:
            The same in every round, because the scans of a part come in one order.
        """
        function = getattr(step, "__qualname__", type(step).__name__).replace("/", ".")
        if self.part:
            function = f"{self.part} {function}"
        number = self._walks[function] = self._walks.get(function, 0) + 1
        return f"{function} {number}"

    def state(self, scan: str, first: Tree) -> Tree:
        """Where a scan's state stands: ``first`` where none of its shapes was kept.

        Args:
            scan: As ``name`` calls it.
            first: The state of a scan that begins anew.

        Returns:
            The kept state, or ``first``.
        """
        kept = self._before.get(scan)
        alike = kept is not None and [x.shape for x in leaves(kept)] == [
            x.shape for x in leaves(first)
        ]
        return kept if alike else first


_memory: ContextVar[Memory | None] = ContextVar("memory", default=None)


def remembered() -> Memory | None:
    """The memory of the client that works.

    Returns:
        None where every round begins anew.
    """
    return _memory.get()


@contextmanager
def remembering(before: Mapping[str, Tree]) -> Iterator[Memory]:
    """Scans begin with the states ``before``, and leave theirs in the Memory.

    Args:
        before: {name of a scan: state} as the client kept them; {} before its first round.

    Yields:
        What holds the states that the scans left.
    """
    memory = Memory(before)
    token = _memory.set(memory)
    try:
        yield memory
    finally:
        _memory.reset(token)


@contextmanager
def part_of_work(name: str) -> Iterator[None]:
    """Scans made meanwhile keep the states of this part of a client's work: for parts of which not
    every round has each.

    Args:
        name: The same in every round, without "/".

    Yields:
        Nothing: what is inside the ``with`` is the part.
    """
    memory = remembered()
    if memory is None:
        yield
        return
    before, memory.part = memory.part, name
    try:
        yield
    finally:
        memory.part = before
