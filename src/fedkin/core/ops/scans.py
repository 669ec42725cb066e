"""Scans of a client's mini-batches, step by step."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache, wraps
from typing import Literal, NamedTuple, Protocol

import torch
from torch import Tensor

from fedkin.core.model import Batch, Model
from fedkin.core.optimizers import PLAIN, Descents, Optimizer, making, remembered
from fedkin.core.protected.noise import SampleNoise
from fedkin.core.protected.sealed import Draws, local_only, sealed, taken_up
from fedkin.core.tree import Tree, dtype_of, map_tree, row

ScanStep = Callable[..., Tree]
PASSES = 3  # of a step that is followed: from a carry's part to another, and on to a third


class Scanner(Protocol):
    """What scans a client's batches: a ``Runtime``, or the steps of several clients made as
    one.
    """

    @property
    def said(self) -> list[str]:
        """What the run record should tell."""

    def say(self, sentence: str) -> None:
        """Something for the record, which has it once.

        Args:
            sentence: A text; one that is there already is not added.
        """

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
            The carry after the last step.
        """


# how a client's samples come into its mini-batches: see ``ClientContext.batches``
BatchSampling = Literal["permuted", "uniform", "poisson"]


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
    draws: tuple[int, ...] = ()
    """Of protected samples: which draws these are, so that one that is scanned again is counted."""

    def zip(self, other: "Batches") -> "Batches":
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
            draws=(*self.draws, *other.draws),
        )

    def blocks(self) -> Iterator[Tree]:
        """The batches, up to ``chunk`` of them stacked along a first axis.

        Yields:
            Trees whose leaves have a leading axis of at most ``chunk``.
        """
        for first in range(0, self.steps, self.chunk):
            yield self.gather(first, min(first + self.chunk, self.steps))


def scan(step: ScanStep, carry: Tree, batches: Batches, *constants: Tree) -> Tree:
    """carry ← step(model, carry, batch, *constants) for every batch; returns the last carry.

    ``step`` is pure, for one client, and keeps the structure, shapes and dtypes of ``carry``. It is
    traced once per shapes and then replayed, so it must not branch on values. Numbers among carry
    and constants become 0-d tensors: changing a learning rate or a λ does not trace anew.

    Args:
        step: ``step(model, carry, batch, *constants) -> carry``.
        carry: Where the scan starts.
        batches: What it scans.
        constants: Trees or numbers, the same in all steps.

    Returns:
        The carry after the last step.
    """
    if batches.model.frozen:
        step, constants = over_frozen(step), (*constants, batches.model.frozen)
    carry, fixed = map_tree(_tensor, carry), map_tree(_tensor, constants)
    if batches.protected is not None and batches.steps:
        dry, batches = batches.protected.dry, _taken_up(batches)
        if dry:
            return _counted(step, carry, batches, fixed)
        step, batches = _covered(step, carry, batches, fixed)
    if batches.optimizer != PLAIN and batches.steps:
        return _optimized(step, carry, batches, fixed)
    return batches.runtime.scan(step, batches.model, carry, batches.blocks(), fixed)


@cache
def over_frozen(step: ScanStep) -> ScanStep:
    """``step`` with the model's frozen parameters as its last constant; one object for one step, by
    which graphs are found again.

    Neither a graph nor compiled code holds their values, and clients side by side share one
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


@cache
def local_only_step(step: ScanStep) -> ScanStep:
    """``step`` for work of which nothing is sent: its mini-batch is ``local_only``.

    One object for one step, by which graphs are found again.

    Args:
        step: As for ``scan``.

    Returns:
        A step with the same arguments.
    """

    @wraps(step)
    def home(model: Model, carry: Tree, batch: Batch, *constants: Tree) -> Tree:
        return step(model, carry, local_only(batch), *constants)

    return home


@dataclass(frozen=True)
class _Optimized:
    """A step whose descents are an optimizer's: its carry is (the step's own, their states)."""

    step: ScanStep
    optimizer: Optimizer

    def __call__(self, model: Model, carry: tuple[Tree, Tree], *rest: Tree) -> tuple[Tree, Tree]:
        own, states = carry
        descents = Descents(self.optimizer, states)
        with making(descents):
            own = self.step(model, own, *rest)
        return own, {of: descents.states[of] for of in states}


def _optimized(step: ScanStep, carry: Tree, batches: Batches, constants: tuple[Tree, ...]) -> Tree:
    """``scan`` with the optimizer's state beside the carry: a new one, or what the client keeps."""
    sought, memory = Descents(batches.optimizer, None), remembered()
    with making(sought), torch.no_grad():
        step(batches.model, carry, row(batches.gather(0, 1), 0), *constants)
    if not sought.states:  # a step that descends nothing: of a membership, of a mixture's share
        return batches.runtime.scan(step, batches.model, carry, batches.blocks(), constants)
    name = "" if memory is None else memory.name(step)
    states = sought.states if memory is None else memory.state(name, sought.states)
    carry, states = batches.runtime.scan(
        _Optimized(step, batches.optimizer),
        batches.model,
        (carry, states),
        batches.blocks(),
        constants,
    )
    if memory is not None:
        memory.after[name] = states
    return carry


@dataclass(frozen=True)
class _Covered:
    """A step whose private gradients are clipped and noised: its batch is (the step's own, noise of
    each gradient).
    """

    step: ScanStep
    clip: float
    open_at_home: bool

    def __call__(self, model: Model, carry: Tree, both: tuple[Tree, Tree], *rest: Tree) -> Tree:
        rows, noises = both
        draws = Draws(self.clip, noises, self.open_at_home)
        return self.step(model, carry, sealed(rows, draws), *rest)


def _taken_up(batches: Batches) -> Batches:
    """Private batches whose rows can be gathered; a method's own look at them is refused."""
    return batches._replace(gather=lambda first, last: taken_up(batches.gather(first, last)))


def _covered(
    step: ScanStep, carry: Tree, batches: Batches, constants: tuple[Tree, ...]
) -> tuple[ScanStep, Batches]:
    """The step and its batches with noise; which gradients there are is found by asking it once."""
    noise = batches.protected
    assert noise is not None
    gradients = _sought(step, carry, batches, constants)[0].taken
    if not gradients:
        return step, batches
    number = noise.begin(gradients, batches.steps, batches.draws)
    dtype = dtype_of(batches.model.initial)

    def gather(first: int, last: int) -> Tree:
        return batches.gather(first, last), noise.drawn(
            number, range(first, last), gradients, dtype
        )

    return _Covered(step, noise.clip, noise.open_at_home), batches._replace(gather=gather)


def _counted(step: ScanStep, carry: Tree, batches: Batches, constants: tuple[Tree, ...]) -> Tree:
    """The carry of a scan that is counted and not made. Its numbers are none (nan) where work at
    home, without noise, would have reached them.
    """
    noise = batches.protected
    assert noise is not None
    sought, after = _sought(step, carry, batches, constants)
    if sought.taken:
        noise.begin(sought.taken, batches.steps, batches.draws)
    noise.opened |= sought.opened
    if not noise.open_at_home:
        return carry
    for _ in range(PASSES - 1):
        _, after = _sought(step, after, batches, constants)
    return after


def _sought(
    step: ScanStep, carry: Tree, batches: Batches, constants: tuple[Tree, ...]
) -> tuple[Draws, Tree]:
    """Which private gradients a step takes, and the carry after it without them."""
    noise = batches.protected
    assert noise is not None
    sought = Draws(noise.clip, None, noise.open_at_home)
    with torch.no_grad():
        rows = sealed(row(batches.gather(0, 1), 0), sought)
        return sought, step(batches.model, carry, rows, *constants)


def _tensor(leaf: Tensor | float) -> Tensor:
    # float64 is exact for a Python number, and a 0-d tensor does not widen the float32 tensors it
    # is multiplied with
    return leaf if isinstance(leaf, Tensor) else torch.tensor(leaf, dtype=torch.float64)
