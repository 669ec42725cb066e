"""Budgets of bytes and of FLOPs: what a run used of them round by round, and how many
rounds keep them.
"""

from collections.abc import Callable, Mapping
from typing import NamedTuple

NOTHING: Mapping[int, float] = {}  # a plain dictionary: worker processes are given it


class Used(NamedTuple):
    """Bytes of messages, or FLOPs: before the first round, in each, after the last."""

    before: float = 0.0
    rounds: tuple[float, ...] = ()
    after: float = 0.0

    @property
    def total(self) -> float:
        """All of it."""
        return self.before + sum(self.rounds) + self.after

    @property
    def further(self) -> float:
        """The least that one more round may use: first ones are special, later ones may differ."""
        return min(self.rounds[len(self.rounds) // 2 :], default=0.0)


def fitting(used: Used, budget: float, most: int) -> int:
    """How many rounds a budget has room for: counted as far as the run went, guessed beyond.

    Args:
        used: By a run.
        budget: What it may use in whole.
        most: Rounds.

    Returns:
        At most ``most``; 0 where not one fits.

    >>> fitting(Used(1.0, (3.0, 9.0, 3.0), 1.0), 14.5, 9)
    2
    >>> fitting(Used(0.0, (3.0, 3.0)), 10.0, 9), fitting(Used(0.0, (0.0,)), 5.0, 9)
    (3, 9)
    """
    left = budget - used.before - used.after
    if left < 0:
        return 0
    for number, each in enumerate(used.rounds[:most]):
        left -= each
        if left < 0:
            return number
    room = int(left / used.further + 1e-9) if used.further > 0 else most
    return min(most, len(used.rounds) + room)


class Allowance(NamedTuple):
    """What a setting's budgets are: what fedavg sends and computes in the setting's rounds, by
    seed. ``missing``: why there is none but equal rounds.
    """

    bytes: Mapping[int, float] = NOTHING
    flops: Mapping[int, float] = NOTHING
    missing: str = ""

    def of(self, budget: str, seed: int) -> float:
        """What a budget is under a seed; that of the first seed where fedavg has no run under this
        one.

        Args:
            budget: "bytes" or "compute".
            seed: Of the run.

        Returns:
            Bytes, or FLOPs.
        """
        amounts = self.flops if budget == "compute" else self.bytes
        return amounts[seed] if seed in amounts else next(iter(amounts.values()))


def rounds_within(
    budget: float,
    start: Used,
    used_by: Callable[[int], Used | None],
    *,
    rounds: int,
    most: int,
    slack: float,
) -> int:
    """The most rounds whose own run keeps a budget: a run of more than are known is guessed, made,
    and corrected by what it used.

    Args:
        budget: What may be used, without the slack.
        start: What the run of equal rounds used.
        used_by: Runs so many rounds; None where that run fails.
        rounds: The equal ones: who has room for a few more, within the slack, has these.
        most: Rounds, whatever room there is.
        slack: A share of the budget, and of the equal rounds, from 0.

    Returns:
        0 where not one round fits.
    """
    whole = budget * (1 + slack)

    def near(fit: int) -> int:
        return rounds if rounds <= fit <= rounds * (1 + slack) else fit

    first = fitting(start, whole, most)
    if first < len(start.rounds):
        most = first
    number = near(first)
    while number:
        used = used_by(number)
        if used is None:
            return number
        fit = fitting(used, whole, most)
        if fit < number:
            most = fit
        if near(fit) == number:
            return number
        number = near(fit)
    return 0
