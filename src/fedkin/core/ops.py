"""What methods are written with: gradients, steps over batches, small algorithms on the simplex."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, wraps
from typing import Any, NamedTuple, Protocol

import torch
from torch import Tensor

from fedkin.core.model import Batch, Model, collecting_buffers
from fedkin.core.optimizers import PLAIN, Descents, Optimizer, current, making, remembered
from fedkin.core.protected.noise import SampleNoise
from fedkin.core.protected.sealed import Draws, Sealed, Uncovered, sealed
from fedkin.core.protected.slope import private_slope
from fedkin.core.tree import Params, Tree, dtype_of, is_buffer, map_tree, row, stack


def gradient(function: Callable[..., Tensor]) -> Callable[..., Params]:
    """∇ of a scalar function with respect to its first argument, a parameter dict.

    ``buffer:`` entries of the result are not derivatives but the refreshed running statistics;
    ``descend`` puts them in place. Combine losses inside ``function``, rather than gradients
    afterwards, so that they stay what they are. Mini-batches are arguments of ``function``, not
    taken from around it: where samples are protected, nothing else may open them.

    Args:
        function: (w, …) → a 0-d tensor; w is a parameter dict.

    Returns:
        (w, …) → the gradient, with the names and shapes of w.
    """

    def at(w: Params, *rest: Any) -> Params:
        if (descents := current()) is not None and descents.sought:
            return w  # it is only asked what is descended, not where to
        if any(isinstance(one, Sealed) for one in rest):
            return private_slope(function, w, rest)
        fixed = {name: value for name, value in w.items() if is_buffer(name)}

        def scalar(weights: Params) -> tuple[Tensor, Params]:
            with collecting_buffers() as refreshed:
                value = function({**weights, **fixed}, *rest)
            return value, refreshed[-1] if refreshed else fixed

        weights = {name: value for name, value in w.items() if not is_buffer(name)}
        slopes, statistics = torch.func.grad(scalar, has_aux=True)(weights)
        return {name: slopes[name] if name in slopes else statistics[name] for name in w}

    return at


def descend(w: Params, slope: Params, rate: float | Tensor, of: str = "w") -> Params:
    """One step down a gradient: w − rate · slope, or what [train] optimizer makes of it.

    Args:
        w: The parameters; running statistics among them take their refreshed values.
        slope: The gradient at w.
        rate: The learning rate.
        of: What is moved, where a step moves several variables: each has its own momentum. Descents
            of one variable share theirs.

    Returns:
        The parameters after the step.
    """
    if (descents := current()) is not None:
        return descents.descend(w, slope, rate, of)
    return {
        name: slope[name] if is_buffer(name) else value - rate * slope[name]
        for name, value in w.items()
    }


Step = Callable[..., Tree]
ABREAST = 8  # walks that go side by side in one step
LARGEST_STACKED = 1_000_000  # parameters of a model whose walks are stacked


class Scanner(Protocol):
    """What walks through a client's batches: a ``Runtime``, or the steps of several clients made as
    one.
    """

    @property
    def said(self) -> list[str]:
        """What the run record should tell."""

    def scan(
        self,
        step: Step,
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
            The carry after the last step.
        """


class Batches(NamedTuple):
    """The mini-batches of one client's work, gathered a few steps at a time."""

    runtime: Scanner
    model: Model
    steps: int
    gather: Callable[[int, int], Tree]
    """(first, last) → a batch tree whose leaves have a leading axis [last − first]."""
    chunk: int = 64
    optimizer: Optimizer = PLAIN
    protected: SampleNoise | None = None
    """What clips and noises the gradient of each sample; None: nothing."""

    def beside(self, other: "Batches") -> "Batches":
        """Batches that are pairs: one of these and one of the others, step by step.

        Args:
            other: Of the same client.

        Returns:
            As many steps as the shorter of both has.
        """
        return self._replace(
            steps=min(self.steps, other.steps),
            gather=lambda a, b: (self.gather(a, b), other.gather(a, b)),
            protected=self.protected or other.protected,
        )

    def blocks(self) -> Iterator[Tree]:
        """The batches, up to ``chunk`` of them stacked along a first axis."""
        for first in range(0, self.steps, self.chunk):
            yield self.gather(first, min(first + self.chunk, self.steps))


def scan(step: Step, carry: Tree, batches: Batches, *constants: Tree) -> Tree:
    """carry ← step(model, carry, batch, *constants) for every batch; returns the last carry.

    ``step`` is pure, for one client, and keeps the structure, shapes and dtypes of ``carry``. It is
    traced once per shapes and then replayed, so it must not branch on values. Numbers among carry
    and constants become 0-d tensors: changing a learning rate or a λ does not trace anew.

    Args:
        step: ``step(model, carry, batch, *constants) -> carry``.
        carry: Where the walk starts.
        batches: What it walks through.
        constants: Trees or numbers, the same in all steps.

    Returns:
        The carry after the last step.
    """
    if batches.model.frozen:
        step, constants = over_frozen(step), (*constants, batches.model.frozen)
    carry, fixed = map_tree(_tensor, carry), map_tree(_tensor, constants)
    if batches.protected is not None and batches.steps:
        step, batches = _covered(step, carry, batches, fixed)
        if batches.protected is not None and batches.protected.dry:
            return carry
    if batches.optimizer != PLAIN and batches.steps:
        return _optimized(step, carry, batches, fixed)
    return batches.runtime.scan(step, batches.model, carry, batches.blocks(), fixed)


@cache
def over_frozen(step: Step) -> Step:
    """``step`` with the model's frozen parameters as its last constant; one object for one step, by
    which graphs are found again.

    Neither a graph nor compiled code holds their values, and clients walking side by side share one
    copy.

    Args:
        step: As for ``scan``.

    Returns:
        A step with one more constant.
    """

    @wraps(step)
    def over(model: Model, carry: Tree, batch: Tree, *constants: Tree) -> Tree:
        *own, frozen = constants
        return step(model.holding(frozen), carry, batch, *own)

    return over


def scan_several(
    step: Step, carry: Params, batches: Batches, constants: Sequence[Sequence[float]]
) -> list[Params]:
    """Where ``scan`` ends from one start, for each choice of a step's constants.

    Small dense models walk side by side, ABREAST of them stacked along a first axis; others, and
    steps that cannot be stacked (they draw, say), one after the other.

    Args:
        step: as for ``scan``.
        carry: parameters, where every walk starts.
        batches: the same for all.
        constants: one row of numbers for each walk.

    Returns:
        The last carry of each walk, in the order of ``constants``.
    """
    starts = [tuple(numbers) for numbers in constants]
    if batches.protected is not None:
        raise Uncovered("it walks several times through the same mini-batches")
    if batches.optimizer == PLAIN and _stacks(carry, batches.model):
        with suppress(Exception):  # alone, a genuine mistake raises with its own message
            return _abreast(step, carry, batches, starts)
    return [scan(step, carry, batches, *numbers) for numbers in starts]


def _abreast(
    step: Step, carry: Params, batches: Batches, rows: list[tuple[float, ...]]
) -> list[Params]:
    found: list[Params] = []
    many = side_by_side(step)
    for first in range(0, len(rows), ABREAST):
        some = rows[first : first + ABREAST]
        full = [*some, *[some[0]] * (ABREAST - len(some))]  # one shape, one graph
        columns = [torch.tensor(column, dtype=dtype_of(carry)) for column in zip(*full)]
        ended = scan(many, stack([carry] * ABREAST), batches, *columns)
        found += [map_tree(lambda x, at=at: x[at].clone(), ended) for at in range(len(some))]
    return found


def _stacks(carry: Params, model: Model) -> bool:
    """Whether walks are worth stacking: no convolutions, which become slower, no statistics."""
    small = sum(leaf.numel() for leaf in carry.values()) <= LARGEST_STACKED
    return small and model.pads and all(leaf.dim() <= 2 for leaf in carry.values())


@cache
def side_by_side(step: Step) -> Step:
    """``step`` for stacked parameters and constants and one batch; one object for one step, by
    which graphs are found again.

    Args:
        step: Of one client, as for ``scan``.

    Returns:
        A step whose carry and constants have one more axis, in front.
    """

    def many(model: Model, carry: Tree, batch: Tree, *constants: Tensor) -> Tree:
        return torch.vmap(lambda own, *rest: step(model, own, batch, *rest))(carry, *constants)

    return many


@dataclass(frozen=True)
class _Optimized:
    """A step whose descents are an optimizer's: its carry is (the step's own, their states)."""

    step: Step
    optimizer: Optimizer

    def __call__(self, model: Model, carry: tuple[Tree, Tree], *rest: Tree) -> tuple[Tree, Tree]:
        own, states = carry
        descents = Descents(self.optimizer, states)
        with making(descents):
            own = self.step(model, own, *rest)
        return own, {of: descents.states[of] for of in states}


def _optimized(step: Step, carry: Tree, batches: Batches, constants: tuple[Tree, ...]) -> Tree:
    """``scan`` with the optimizer's state beside the carry: a new one, or what the client keeps."""
    sought, memory = Descents(batches.optimizer, None), remembered()
    with making(sought), torch.no_grad():
        step(batches.model, carry, row(batches.gather(0, 1), 0), *constants)
    if not sought.states:  # a step that descends nothing: of a membership, of a mixture's share
        return batches.runtime.scan(step, batches.model, carry, batches.blocks(), constants)
    walk = "" if memory is None else memory.name(step)
    states = sought.states if memory is None else memory.state(walk, sought.states)
    carry, states = batches.runtime.scan(
        _Optimized(step, batches.optimizer),
        batches.model,
        (carry, states),
        batches.blocks(),
        constants,
    )
    if memory is not None:
        memory.after[walk] = states
    return carry


@dataclass(frozen=True)
class _Covered:
    """A step whose private gradients are clipped and noised: its batch is (the step's own, noise of
    each gradient).
    """

    step: Step
    clip: float

    def __call__(self, model: Model, carry: Tree, both: tuple[Tree, Tree], *rest: Tree) -> Tree:
        rows, noises = both
        return self.step(model, carry, sealed(rows, Draws(self.clip, noises)), *rest)


def _covered(
    step: Step, carry: Tree, batches: Batches, constants: tuple[Tree, ...]
) -> tuple[Step, Batches]:
    """The step and its batches with noise; which gradients there are is found by asking it once."""
    noise = batches.protected
    assert noise is not None
    sought = Draws(noise.clip, None)
    with torch.no_grad():
        step(batches.model, carry, sealed(row(batches.gather(0, 1), 0), sought), *constants)
    taken = sought.taken
    if not taken:
        return step, batches
    walk, dtype = noise.begin(taken, batches.steps), dtype_of(batches.model.initial)

    def gather(first: int, last: int) -> Tree:
        return batches.gather(first, last), noise.drawn(walk, range(first, last), taken, dtype)

    return _Covered(step, noise.clip), batches._replace(gather=gather)


def _tensor(leaf: Tensor | float) -> Tensor:
    # float64 is exact for a Python number, and a 0-d tensor does not widen the float32 tensors it
    # is multiplied with
    return leaf if isinstance(leaf, Tensor) else torch.tensor(leaf, dtype=torch.float64)


def outputs(model: Model, w: Params, batches: list[Batch]) -> Tensor:
    """Linear predictors (logits) of all samples of these batches, one after the other: [n, C],
    evaluation mode.

    Args:
        model: The architecture.
        w: Its parameters.
        batches: At least one.

    Returns:
        Without a graph for gradients.
    """
    with torch.inference_mode():
        return torch.cat([model.outputs(w, batch.x) for batch in batches])


def over_rows(
    of: Callable[[Tensor], Tensor], model: Model, w: Params, x: Tensor, rows: int = 1024
) -> Tensor:
    """``of(outputs)`` of every row of x [n, …] in evaluation mode, ``rows`` of them at a time.

    Args:
        of: Outputs [rows, C] → what is wanted of them, with a first axis of the same length.
        model: The architecture.
        w: Its parameters.
        x: Inputs.
        rows: How many go through the model at once.

    Returns:
        What ``of`` gives, one after the other: [n, …].
    """
    with torch.inference_mode():
        return torch.cat([of(model.outputs(w, part)) for part in torch.split(x, rows)])


def predictions(model: Model, w: Params, x: Tensor) -> Tensor:
    """s(w, x): class probabilities [n, classes] of a public set, in evaluation mode. Rows lie on
    the simplex.

    Args:
        model: The architecture.
        w: Its parameters.
        x: Public samples [n, …].

    Returns:
        [n, classes]; of regression the means [n, 1].
    """
    return over_rows(model.family.mean, model, w, x)


def slope(
    function: Callable[..., Tensor], at: Tree, batches: list[Batch], *constants: Tree
) -> Tree:
    """Σ over batches of ∇ function(at, batch, *constants), by plain autograd: a full gradient that
    is needed once.

    Args:
        function: (at, batch, *constants) → a 0-d tensor, the mean over one batch times its share.
        at: Where the gradient is taken.
        batches: At least one.
        constants: Further arguments.

    Returns:
        A tree like ``at``.
    """
    with torch.inference_mode(False):
        at = map_tree(lambda leaf: leaf.clone(), at)
        parts = [torch.func.grad(function)(at, batch, *constants) for batch in batches]
    total = parts[0]
    for part in parts[1:]:
        total = map_tree(lambda a, b: a + b, total, part)
    return total


def simplex_step(c: Tensor, direction: Tensor, rate: float | Tensor, floor: float = 1e-6) -> Tensor:
    """One entropic mirror-descent step on the unit simplex: c ∘ exp(−rate · direction), normalised
    (PPFL eq. 25).

    ``c`` and ``direction`` are [..., K]. Entries are kept at ``floor`` or above and the result sums
    to 1, so that no model is lost for good.

    Args:
        c: Positive, sums of 1 along the last axis.
        direction: The gradient, of the same shape.
        rate: The step size η.
        floor: The smallest entry that is kept.

    Returns:
        Of the shape of ``c``.
    """
    logits = torch.log(c) - rate * direction
    moved = torch.softmax(logits, -1).clamp_min(floor)
    return moved / moved.sum(-1, keepdim=True)
