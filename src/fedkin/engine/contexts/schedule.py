"""How much local work a round is, and at which learning rate."""

import math
from typing import NamedTuple

from fedkin.core.optimizers import PLAIN, Optimizer
from fedkin.core.settings.choices import RateShape


class Schedule(NamedTuple):
    """[train]: how much local work a round is, and of what kind, for every method alike."""

    batch_size: int
    steps: int | None = None  # mini-batches a round …
    epochs: int | None = None  # … or passes over the client's training data
    milestones: tuple[int, ...] = ()  # rounds after which the learning rate falls …
    milestone_factor: float = 0.1  # … to this share of it: [train] decay
    optimizer: Optimizer = PLAIN
    shape: RateShape = "steps"  # of the learning rate over the run: milestones, or down to 0
    warmup: int = 0  # rounds in which it rises to its full height
    rounds: int = 0  # of the whole run

    def factor(self, round: int) -> float:
        """The learning-rate factor of a round (rounds count from 1).

        After the warm-up a "cosine" and a "linear" schedule fall as ``CosineAnnealingLR`` and
        ``LinearLR`` of torch do, a round an epoch; what follows the last round goes on with its.

        Args:
            round: From 1; 0, before the first, counts as 1.

        Returns:
            What the learning rate is multiplied by.
        """
        round = max(round, 1)  # what precedes the first round is trained at its rate
        rise = min(round / (self.warmup + 1), 1.0)
        if self.shape == "steps":
            passed = sum(round > after for after in self.milestones)
            return rise * float(self.milestone_factor**passed)
        if rise < 1:
            return rise
        span = max(self.rounds - self.warmup, 1)
        done = min(round - 1 - self.warmup, span - 1) / span
        return (1 + math.cos(math.pi * done)) / 2 if self.shape == "cosine" else 1 - done
