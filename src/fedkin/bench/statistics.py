"""Which differences between methods may be chance: Friedman's test with Nemenyi's critical
difference over federations, and paired tests over clients with Holm's correction.

Sources: Demšar, Statistical Comparisons of Classifiers over Multiple Data Sets (JMLR 2006), eq. in
section 3.2.2; Holm (1979).

Friedman's χ² has its distribution over many blocks only: of 47 methods that are alike over three it
tells 2 % apart at the 5 % level. So p is by orders that are drawn, which holds for any number.
"""

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fedkin.core.measures import DIGITS
from fedkin.report.intervals import of_seeds

LEVEL = 0.05
FEWEST = 2  # federations, and methods
DRAWS, SEED = 20_000, 0  # of orders, for Friedman's p
CELLS = 2_000_000  # of tables that are drawn at once


class Ranked(NamedTuple):
    """Mean ranks over blocks, best first, 1 is the best.

    ``p``: of Friedman's test that all are alike. ``difference``: mean ranks that lie closer cannot
    be distinguished at the 5 % level (Nemenyi). ``groups``: runs of such methods, by place.
    ``without``, ``skipped``: methods and blocks that the ranks are not of.
    """

    names: list[str]
    ranks: list[float]
    blocks: int
    p: float
    difference: float
    groups: list[tuple[int, int]]
    without: tuple[str, ...] = ()
    skipped: tuple[str, ...] = ()


class Whole(NamedTuple):
    """Methods and blocks of which every method has every block."""

    names: list[str]
    blocks: list[str]


def whole(scores: Mapping[str, Mapping[str, float]]) -> Whole | None:
    """The largest table without a gap, with the blocks of all methods or of one.

    It is the one with the largest product of methods and blocks squared. Blocks count more, because
    they are what ranks are averaged over: a critical difference falls with blocks, and grows with
    methods. Rows of two suites stand beside each other: only the baselines may have every block.

    Args:
        scores: {method: {block: score}}.

    Returns:
        None where no two methods share two blocks.
    """
    every = sorted({block for by_block in scores.values() for block in by_block})
    candidates = dict.fromkeys([tuple(every), *(tuple(sorted(one)) for one in scores.values())])
    tables = [
        Whole([name for name, one in scores.items() if all(b in one for b in blocks)], list(blocks))
        for blocks in candidates
    ]
    enough = [one for one in tables if min(len(one.names), len(one.blocks)) >= FEWEST]
    return max(enough, key=lambda one: len(one.names) * len(one.blocks) ** 2, default=None)


class BlockRanks(NamedTuple):
    """``ranks``: [blocks, methods], 1 is the best; ``means``: over the blocks, by method."""

    names: list[str]
    blocks: list[str]
    ranks: NDArray[np.float64]
    means: list[float]


def ranks_of_blocks(scores: Mapping[str, Mapping[str, float]]) -> BlockRanks | None:
    """Ranks of the methods in each block of the largest table that has no gap.

    Args:
        scores: {method: {block: score}}.

    Returns:
        None for fewer than two blocks or methods.
    """
    kept = whole(scores)
    if kept is None:
        return None
    table = np.array([[scores[name][block] for name in kept.names] for block in kept.blocks])
    each = _ranks(-table)
    return BlockRanks(kept.names, kept.blocks, each, each.mean(0).tolist())


def ranked(scores: Mapping[str, Mapping[str, float]]) -> Ranked | None:
    """Mean ranks over the largest table of methods and blocks that has no gap.

    Args:
        scores: {method: {block: score}}; a block is a federation, averaged over its seeds.

    Returns:
        None for fewer than two blocks or methods.
    """
    kept = ranks_of_blocks(scores)
    if kept is None:
        return None
    names, blocks, each, means = kept
    p = chance_of_orders(each)
    order = sorted(range(len(names)), key=lambda k: (means[k], names[k]))
    sorted_means = [means[k] for k in order]
    gap = critical_difference(len(names), len(blocks))
    named = [names[k] for k in order]
    every = {block for by_block in scores.values() for block in by_block}
    return Ranked(
        named,
        sorted_means,
        len(blocks),
        p,
        gap,
        groups(sorted_means, gap),
        tuple(name for name in scores if name not in names),
        tuple(sorted(every - set(blocks))),
    )


def friedman(ranks: NDArray[np.float64]) -> float:
    """χ² of Friedman's test, corrected for ties.

    Args:
        ranks: [blocks, methods].

    Returns:
        From 0; 0 where every block has all alike.

    >>> round(friedman(np.array([[1.0, 2.0, 3.0], [1.0, 2.0, 3.0], [2.0, 1.0, 3.0]])), 4)
    4.6667
    """
    blocks, methods = ranks.shape
    ties = 0.0
    for row in ranks:
        _, counts = np.unique(row, return_counts=True)
        ties += float((counts**3 - counts).sum())
    correction = 1 - ties / (blocks * methods * (methods**2 - 1))
    if correction <= 0:  # every block has all alike
        return 0.0
    spread = float(((ranks.sum(0) - blocks * (methods + 1) / 2) ** 2).sum())
    return float(12 * spread / (blocks * methods * (methods + 1)) / correction)


def chance_of_orders(ranks: NDArray[np.float64]) -> float:
    """How likely mean ranks lie so far apart where each block has its ranks in any order: p of
    Friedman's test, whatever the number of blocks. The same for every call.

    Args:
        ranks: [blocks, methods].

    Returns:
        In (0, 1]; 1 / (DRAWS + 1) at least.

    >>> chance_of_orders(np.ones((3, 4)))
    1.0
    """
    blocks, methods = ranks.shape
    middle = ranks.sum() / methods

    def spread(sums: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(((sums - middle) ** 2).sum(-1))

    least = float(spread(ranks.sum(0))) - 1e-9  # sums of halves: equal ones differ by less
    rng = np.random.default_rng(SEED)
    step = max(1, CELLS // ranks.size)
    as_far = 0
    for done in range(0, DRAWS, step):
        tables = np.broadcast_to(ranks, (min(step, DRAWS - done), blocks, methods))
        as_far += int((spread(rng.permuted(tables, axis=2).sum(1)) >= least).sum())
    return (1 + as_far) / (1 + DRAWS)


def critical_difference(methods: int, blocks: int) -> float:
    """Nemenyi's: q √(k (k + 1) / 6N), q the studentized range at 5 % with ∞ degrees, over √2.

    >>> round(critical_difference(4, 14), 3)
    1.254

    Args:
        methods: k, from 2.
        blocks: N, from 1.

    Returns:
        A difference of mean ranks.
    """
    from scipy.stats import studentized_range

    q = float(studentized_range.ppf(1 - LEVEL, methods, math.inf)) / math.sqrt(2)
    return float(q * math.sqrt(methods * (methods + 1) / (6 * blocks)))


def groups(ranks: Sequence[float], gap: float) -> list[tuple[int, int]]:
    """(first, last) of the longest runs of sorted mean ranks within a gap, of two or more.

    >>> groups([1.0, 1.5, 3.0, 3.4], 1.0)
    [(0, 1), (2, 3)]

    Args:
        ranks: In rising order.
        gap: The largest difference within a run.

    Returns:
        Places, from 0.
    """
    runs: list[tuple[int, int]] = []
    for first in range(len(ranks)):
        last = max(k for k in range(first, len(ranks)) if ranks[k] - ranks[first] <= gap)
        if last > first and (not runs or last > runs[-1][1]):
            runs.append((first, last))
    return runs


def holm(chances: Sequence[float], among: int | None = None) -> list[float]:
    """Holm's correction of several p-values.

    >>> [round(p, 6) for p in holm([0.01, 0.04, 0.03])]
    [0.03, 0.06, 0.06]
    >>> [round(p, 6) for p in holm([0.01, 0.04], among=3)]
    [0.03, 0.08]

    Args:
        chances: In 0..1.
        among: Of how many tests they are, where they were picked by what was measured; the others
            are taken to have the larger p-values, which is the stricter way. None: all.

    Returns:
        In their order, in 0..1.
    """
    family = len(chances) if among is None else among
    order = sorted(range(len(chances)), key=lambda k: chances[k])
    corrected, largest = [0.0] * len(chances), 0.0
    for place, k in enumerate(order):
        largest = max(largest, min(1.0, (family - place) * chances[k]))
        corrected[k] = largest
    return corrected


def chance_over_seeds(values: Sequence[NDArray[np.float64]], persons: bool = False) -> float:
    """How likely the mean over seeds of the means over clients lies so far from 0 by chance, two-
    sided: seeds are a sample, and so are the clients of each (Student's t, as ``of_seeds`` has it).

    Args:
        values: An array of clients' differences a seed, two or more, none of them empty.
        persons: As ``of_seeds`` has it: values may be nan then.

    Returns:
        In 0..1.

    >>> round(chance_over_seeds([np.array([0.0, 2.0]), np.array([1.0, 3.0])]), 4)
    0.1817
    """
    found = of_seeds(values, persons)
    if found.variance == 0:
        return float(found.mean == 0)
    from scipy.special import stdtr  # late: slow to load

    return float(2 * stdtr(found.degrees, -abs(found.mean) / math.sqrt(found.variance)))


def agreement(scores: NDArray[np.float64]) -> float | None:
    """Kendall's W: how alike several orders of the same methods are, 0 to 1; None of one order.

    Args:
        scores: [orders, methods], whatever orders the methods. W is of their ranks: mean ranks are
            no ranks.

    Returns:
        A number in 0..1, or None.

    >>> agreement(np.array([[1.0, 1.5, 3.0], [1.0, 2.0, 2.5]]))
    1.0
    """
    orders, methods = scores.shape
    if orders < FEWEST or methods < FEWEST:
        return None
    return float(round(friedman(_ranks(scores)) / (orders * (methods - 1)), 6))


def _ranks(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Of each row, the least first: equal values share the mean of their ranks (``comparable``)."""
    from scipy.stats import rankdata  # late: slow to load

    return np.asarray(rankdata(np.round(values, DIGITS), axis=1), dtype=float)
