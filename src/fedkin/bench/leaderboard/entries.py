"""What rows come to: one entry a method, federation and budget, over its seeds."""

from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean, geometric_mean, stdev
from typing import Literal, NamedTuple

from fedkin.bench.row import Row
from fedkin.bench.suite import ALONE
from fedkin.core.measures import measure_named

BUDGETS = ("rounds", "bytes", "compute")
EQUAL_ROUNDS = BUDGETS[0]
Cost = Literal["bytes", "flops"]
POOLED = "centralized"  # has all data in one place: beside the others, never a winner


class Entry(NamedTuple):
    """Means over seeds. ``gain``: how much better than local, None of itself."""

    federation: str
    method: str
    budget: str
    measure: str
    seeds: tuple[int, ...]
    rounds: tuple[int, ...]  # of each seed: its own budget may have room for others
    mean: float
    spread: float | None
    worst_decile: float | None
    gain: float | None
    helped: float | None
    hurt: float | None
    bytes: float
    flops: float
    seconds: float
    epsilon: float | None
    hyper: str
    ids: tuple[str, ...]

    @property
    def higher(self) -> bool:
        """Whether more of the measure is better."""
        return measure_named(self.measure).higher

    @property
    def sign(self) -> int:
        """1 where more of the measure is better, else -1."""
        return measure_named(self.measure).sign

    @property
    def score(self) -> float:
        """The mean where higher is better, else its negative."""
        return self.sign * self.mean


def entries(rows: Iterable[Row]) -> list[Entry]:
    """By federation and budget, the best first. Rows that were not run are in none, and so is a
    method that failed under one of its seeds: a mean over the others would flatter it.

    Args:
        rows: Of any suites.

    Returns:
        One a federation, budget and method.
    """
    groups: dict[tuple[str, str, str], list[Row]] = {}
    for row in rows:
        for budget in row.budgets:
            groups.setdefault((row.federation, budget, row.method), []).append(row)
    unranked = [
        _entry(*key, group)
        for key, group in groups.items()
        if all(row.mean is not None for row in group)
    ]
    alone = {(one.federation, one.measure): one.mean for one in unranked if one.method == ALONE}
    figures = [
        one._replace(gain=one.sign * (one.mean - alone[one.federation, one.measure]))
        if one.method != ALONE and (one.federation, one.measure) in alone
        else one
        for one in unranked
    ]
    return sorted(
        figures,
        key=lambda one: (one.federation, BUDGETS.index(one.budget), -one.score),
    )


def _entry(federation: str, budget: str, method: str, group: Sequence[Row]) -> Entry:
    means = [row.mean for row in group if row.mean is not None]
    worst = [row.worst_decile for row in group if row.worst_decile is not None]
    spent = [row.epsilon for row in group if row.epsilon is not None]
    hyper = ", ".join(f"{key} {value}" for key, value in group[0].hyper.items())
    return Entry(
        federation=federation,
        method=method,
        budget=budget,
        measure=group[0].measure,
        seeds=tuple(row.seed for row in group),
        rounds=tuple(row.rounds for row in group),
        mean=fmean(means),
        spread=stdev(means) if len(means) > 1 else None,
        worst_decile=fmean(worst) if worst else None,
        gain=None,
        helped=_mean(row.helped for row in group),
        hurt=_mean(row.hurt for row in group),
        bytes=fmean(row.bytes for row in group),
        flops=fmean(row.flops for row in group),
        seconds=fmean(row.seconds for row in group),
        epsilon=max(spent) if spent else None,
        hyper=hyper,
        ids=tuple(row.id for row in group),
    )


def times(by: Mapping[str, Entry], baseline: Mapping[str, Entry], what: Cost) -> float | None:
    """How many times as much as the baseline a method sends or computes: the geometric mean over
    the federations that both have.

    Args:
        by: The method's entries, by federation.
        baseline: Those of fedavg, say, at the same budget.
        what: "bytes" or "flops".

    Returns:
        0 where it sends nothing somewhere; None where both share no federation.
    """
    pairs = [
        (getattr(one, what), getattr(baseline[k], what)) for k, one in by.items() if k in baseline
    ]
    ratios = [own / other for own, other in pairs if other > 0]
    if not ratios:
        return None
    return geometric_mean(ratios) if min(ratios) > 0 else 0.0


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return fmean(known) if known else None
