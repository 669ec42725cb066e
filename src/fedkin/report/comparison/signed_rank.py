"""Wilcoxon's signed-rank test of paired differences.

The p that ``scipy.stats.wilcoxon`` gives, with its default settings, for the differences that are
not 0. (Given some that are 0 too, it takes the normal distribution for few as well.)

Loading ``scipy.stats`` takes half a second, and its test of few tied differences as long again:
every report has one such test.
"""

import math

import numpy as np
from numpy.typing import NDArray

EXACT = 50  # differences, up to which all signs are counted; above, the normal distribution
EXACT_TIED = 13  # the same where some are equally large


def signed_rank(apart: NDArray[np.float64]) -> float | None:
    """Two-sided p of Wilcoxon's signed-rank test, differences of 0 left out; 1 where all are 0.

    None without differences; nan where one of them is nan.

    Args:
        apart: Paired differences, in any unit.

    Returns:
        A probability in 0..1; None without differences; nan where one of them is nan.
    """
    if len(apart) == 0:
        return None
    rest = apart[apart != 0]
    if not len(rest):
        return 1.0
    if np.isnan(rest).any():
        return math.nan
    _, place, ties = np.unique(np.abs(rest), return_inverse=True, return_counts=True)
    last = np.cumsum(ties)
    twice = (2 * last - ties + 1)[place]  # twice the mean rank of equal ones: a whole number
    up = int(twice[rest > 0].sum())
    if len(rest) <= (EXACT if len(ties) == len(rest) else EXACT_TIED):
        return _of_all_signs(twice, up)
    return _of_normal(len(rest), ties, up / 2)


def _of_all_signs(twice: NDArray[np.int64], up: int) -> float:
    """From the sum of positive ranks under each of the 2^n signs, which are equally likely."""
    ways = np.zeros(int(twice.sum()) + 1)  # by the sum of twice the ranks; whole, below 2^53
    ways[0] = 1
    for rank in twice:
        ways[rank:] += ways[:-rank].copy()
    tail = min(ways[: up + 1].sum(), ways[up:].sum())
    return min(1.0, 2 * float(tail) / 2.0 ** len(twice))


def _of_normal(count: int, ties: NDArray[np.int64], up: float) -> float:
    """Without a correction for continuity; ``ties``: how many differences are equally large."""
    of_ties = sum(int(many) ** 3 - int(many) for many in ties)
    variance = (count * (count + 1) * (2 * count + 1) - of_ties / 2) / 24
    z = (up - count * (count + 1) / 4) / math.sqrt(variance)
    return math.erfc(abs(z) / math.sqrt(2))
