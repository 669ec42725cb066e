"""Mean ranks of methods, over federations and under each seed, and each beside the best one."""

from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean
from typing import NamedTuple

import numpy as np

from fedkin.bench.leaderboard.entries import POOLED, Entry, entries
from fedkin.bench.leaderboard.twins import twins_of
from fedkin.bench.row import Row
from fedkin.bench.statistics import (
    Ranked,
    agreement,
    chance_over_seeds,
    holm,
    ranked,
    ranks_of_blocks,
    whole,
)
from fedkin.bench.suite import ALONE
from fedkin.core.measures import comparable, measure_named
from fedkin.report.comparison.signed_rank import signed_rank
from fedkin.report.intervals import Pair, by_seed, mean_of_pairs


def order(board: Sequence[Entry], budget: str) -> Ranked | None:
    """Mean ranks over methods and federations without a gap, as many as there are. Left out: who
    lacks one of the federations, the pooled comparator, and whoever is another's twin.

    Args:
        board: Entries of any budget.
        budget: "rounds", "bytes" or "compute".

    Returns:
        None where fewer than two methods share two federations.
    """
    return ranked(_competing(board, budget))


def mean_ranks(board: Sequence[Entry], budget: str) -> dict[str, float]:
    """``order`` without its tests, which take far longer.

    Args:
        board: Entries of any budget.
        budget: "rounds", "bytes" or "compute".

    Returns:
        {method: mean rank}; {} where fewer than two methods share two federations.
    """
    found = ranks_of_blocks(_competing(board, budget))
    return {} if found is None else dict(zip(found.names, found.means, strict=True))


def _competing(board: Sequence[Entry], budget: str) -> dict[str, dict[str, float]]:
    """{method: {federation: score}} of all but the pooled comparator and twins."""
    out = {POOLED, *twins_of(board)}
    return _by_method(one for one in board if one.budget == budget and one.method not in out)


def _by_method(board: Iterable[Entry]) -> dict[str, dict[str, float]]:
    """{method: {federation: score}}."""
    scores: dict[str, dict[str, float]] = {}
    for one in board:
        scores.setdefault(one.method, {})[one.federation] = one.score
    return scores


class Stability(NamedTuple):
    """A method's rank under each seed, over the federations; ``ranks`` in the order of seeds."""

    method: str
    ranks: tuple[float, ...]


def stability(rows: Sequence[Row], budget: str) -> tuple[list[Stability], float | None]:
    """(mean ranks under each seed, Kendall's W of the seeds' orders), of the methods and
    federations that ``order`` ranks, under the seeds that all of them have.

    Args:
        rows: Of any suites.
        budget: "rounds", "bytes" or "compute".

    Returns:
        W is in 0..1; ([], None) where no seed has all.
    """
    kept = whole(_competing(entries(rows), budget))
    if kept is None:
        return [], None
    names, federations = kept
    scores: dict[int, dict[str, dict[str, float]]] = {}
    for row in rows:
        mine = budget in row.budgets and row.method in names and row.federation in federations
        if mine and row.mean is not None:
            sign = measure_named(row.measure).sign
            by_method = scores.setdefault(row.seed, {})
            by_method.setdefault(row.method, {})[row.federation] = sign * row.mean
    cells = len(names) * len(federations)
    orders: list[Mapping[str, float]] = []
    for seed in sorted(scores):
        one = ranks_of_blocks(scores[seed])
        if one is not None and sum(map(len, scores[seed].values())) == cells:
            orders.append(dict(zip(one.names, one.means, strict=True)))
    table = np.array([[ranks[name] for name in names] for ranks in orders])
    stabilities = [Stability(name, tuple(ranks[name] for ranks in orders)) for name in names]
    return (stabilities, agreement(table)) if orders else ([], None)


class AgainstBest(NamedTuple):
    """A method against the best of its federation, client by client, over all seeds.

    ``p``: Of one seed Wilcoxon's signed-rank test; 1 where its ranks point the other way than the
    means. Of several seeds ``chance_over_seeds``. It is corrected by Holm for all pairs of methods:
    who is the best is known from the same scores, and any pair may be the one that is tested.
    """

    method: str
    difference: float
    p: float


def against_best(
    rows: Sequence[Row], federation: str, budget: str
) -> tuple[str, list[AgainstBest]]:
    """(the best method, every other against it).

    Args:
        rows: Of any suites.
        federation: As rows name it.
        budget: "rounds", "bytes" or "compute".

    Returns:
        Differences are in the measure's unit, below 0 where the best one is better; of equal ones
        local is the best, which nobody beats then. ("", []) without a row.
    """
    scores: dict[str, dict[int, dict[str, float]]] = {}
    persons = False
    for row in rows:
        if row.federation == federation and budget in row.budgets and row.method != POOLED:
            persons = persons or _everybody(row)
            sign = measure_named(row.measure).sign
            if row.clients:
                by_seed = scores.setdefault(row.method, {})
                by_seed[row.seed] = {client: sign * v for client, v in row.clients.items()}
    if not scores:
        return "", []
    means = {  # seeds count alike, as in entries
        name: fmean(fmean(clients.values()) for clients in by_seed.values())
        for name, by_seed in scores.items()
    }
    best = max(scores, key=lambda name: (comparable(means[name]), name == ALONE))
    others = [name for name in scores if name != best]
    apart = [_apart(scores[name], scores[best], persons) for name in others]
    chances = holm([_chance(one) for one in apart], len(scores) * (len(scores) - 1) // 2)
    return best, [
        AgainstBest(name, mean_of_pairs(one) if one else 0.0, p)
        for name, one, p in zip(others, apart, chances, strict=True)
    ]


def _everybody(row: Row) -> bool:
    """Whether every seed has the same persons. Where a number of natural clients is asked for, each
    seed draws others, and their numbers do not say whom.
    """
    run = row.content.get("run")
    return row.split == "natural" and not (isinstance(run, dict) and run.get("clients"))


def _apart(
    one: Mapping[int, Mapping[str, float]], other: Mapping[int, Mapping[str, float]], persons: bool
) -> dict[Pair, float]:
    """Paired differences. The number of a client that is no person says nothing beyond its seed."""
    return {
        Pair(seed, client if persons else (seed, client)): round(value - other[seed][client], 9)
        for seed, clients in one.items()
        for client, value in clients.items()
        if client in other.get(seed, {})
    }


def _chance(apart: Mapping[Pair, float]) -> float:
    """That as large a difference is chance."""
    each, persons = by_seed(apart)
    if not each:
        return 1.0
    if len(each) > 1:
        return chance_over_seeds(each, persons)
    from scipy.stats import rankdata  # late: slow to load

    p, told = signed_rank(each[0]), each[0][each[0] != 0]
    above = float(np.sign(told) @ rankdata(np.abs(told))) > 0
    return 1.0 if p is None or above else p
