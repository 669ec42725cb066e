"""The noise of one client's steps in a round, and how many of them there were."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import torch

from fedkin.core.protected.sealed import Shapes, Uncovered
from fedkin.core.rng import Secret
from fedkin.core.tree import Params


@dataclass
class SampleNoise:
    """What protects the samples of one client in one round: every walk through its mini-batches is
    clipped and noised by it, and is counted.

    Attributes:
        clip: C, the largest norm of a sample's gradient.
        noise: σ, in clips.
        unit: what a sample weighs in a step, 1 / (expected batch size).
        secret: where noise comes from.
        round: which one.
        dry: nothing is walked; steps are counted alone.
        open_at_home: work of which nothing is sent (``local_only``) is neither clipped nor noised.
        spent: steps so far, by how often the gradient of each mini-batch was taken in one.
        gradients: of each draw of samples that was walked through, how many gradients its
            mini-batches have, step by step; None where it was one of several draws at once.
        opened: whether some work was done without noise.
    """

    clip: float
    noise: float
    unit: float
    secret: Secret
    round: int
    dry: bool = False
    open_at_home: bool = False
    spent: dict[tuple[int, ...], int] = field(default_factory=dict)
    gradients: dict[int, list[int] | None] = field(default_factory=dict)
    walks: int = 0
    opened: bool = False

    def fresh(self) -> "SampleNoise":
        """The same before any walk."""
        return replace(self, spent={}, gradients={}, walks=0, opened=False)

    def begin(
        self, taken: Sequence[tuple[int, Shapes]], steps: int, draws: Sequence[int] = ()
    ) -> int:
        """A walk begins, and is counted.

        Args:
            taken: The private gradients of each of its steps.
            steps: How many there are.
            draws: Numbers of the draws of samples that it goes through; one that was walked through
                before gives the same samples again.

        Returns:
            Its number within the round.

        Raises:
            Uncovered: It goes again through one of several draws, whose cost nobody knows.
        """
        places = [place for place, _ in taken]
        kind = tuple(places.count(place) for place in sorted(set(places)))
        alone = len(draws) == len(kind) == 1
        if any(not alone or self.gradients[one] is None for one in draws if one in self.gradients):
            raise Uncovered("it goes several times through the same mini-batches")
        if alone:
            self._count_draw(draws[0], kind[0], steps)
        else:
            self.gradients |= dict.fromkeys(draws)
            self.spent[kind] = self.spent.get(kind, 0) + steps
        self.walks += 1
        return self.walks

    def _count_draw(self, draw: int, more: int, steps: int) -> None:
        """Count steps over a draw: what its mini-batches gave before, they give together with it,
        as if it were one step with all of these gradients.
        """
        before = self.gradients.get(draw) or []
        known = [*before, *[0] * (steps - len(before))]
        after = [old + more for old in known[:steps]]
        spent = Counter(self.spent)
        spent.subtract((old,) for old in before[:steps])
        spent.update((new,) for new in after)
        self.spent = {kind: count for kind, count in spent.items() if count}
        self.gradients[draw] = after + known[steps:]

    def drawn(
        self, walk: int, steps: range, taken: Sequence[tuple[int, Shapes]], dtype: torch.dtype
    ) -> tuple[Params, ...]:
        """The noise of some steps' gradients: normal, σ C unit; the same whenever it is asked for,
        in however many parts.

        Args:
            walk: Its number within the round.
            steps: Their numbers within the walk.
            taken: The private gradients of each step.
            dtype: Of the weights.

        Returns:
            For each gradient, noise like the weights that it is of, along a first axis [steps].
        """
        sizes = [torch.Size(shape).numel() for _, shapes in taken for shape in shapes.values()]
        each = [
            self.secret.normal(f"sample noise {walk} {step}", self.round, sum(sizes))
            for step in steps
        ]
        height = self.noise * self.clip * self.unit if self.noise else 0.0  # any clip without noise
        parts = iter(torch.split((height * torch.stack(each)).to(dtype), sizes, dim=1))
        return tuple(
            {name: next(parts).reshape(len(steps), *shape) for name, shape in shapes.items()}
            for _, shapes in taken
        )
