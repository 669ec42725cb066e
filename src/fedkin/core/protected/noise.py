"""The noise of one client's steps in a round, and how many of them there were."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import torch

from fedkin.core.protected.sealed import Shapes
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
        open_at_home: work of which nothing is sent (``at_home``) is neither clipped nor noised.
        spent: steps so far, by how often the gradient of each mini-batch was taken in one.
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
    walks: int = 0
    opened: bool = False

    def begin(self, taken: Sequence[tuple[int, Shapes]], steps: int) -> int:
        """A walk begins, and is counted.

        Args:
            taken: The private gradients of each of its steps.
            steps: How many there are.

        Returns:
            Its number within the round.
        """
        places = [place for place, _ in taken]
        kind = tuple(places.count(place) for place in sorted(set(places)))
        self.spent[kind] = self.spent.get(kind, 0) + steps
        self.walks += 1
        return self.walks

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
