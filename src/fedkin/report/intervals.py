"""How sure a number is: over clients, of one client by its test rows, over seeds; and which ranks
are ties.
"""

import math
from collections.abc import Hashable, Mapping, Sequence
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fedkin.core.measures import difference, measure_named
from fedkin.report.formatting import FOR_BOOTSTRAP, LARGE

Floats = NDArray[np.float64]
DRAWS, SEED, LEVEL = 10_000, 0, 0.95
NORMAL_AT = NormalDist().inv_cdf  # the quantile of a probability
NORMAL = NORMAL_AT((1 + LEVEL) / 2)
STEPS = 10_000  # of a sum for an integral
NEARLY_NORMAL = 10_000  # degrees of freedom, above which such a sum has too few steps near 0
HALVINGS = 45  # of 0..1, to what rounding leaves of a sum
BATCH = 2_000_000  # random numbers at a time
MANY = 100_000  # test rows, above which Wilson's interval of a share stands for the exact one
FEW = 30  # test rows, below which a client's own number is coarse


def interval(values: Floats, weights: Floats | None = None) -> tuple[float | None, float | None]:
    """The 95 % interval of the mean of ``values``; the same for every call.

    Percentiles of means of values drawn again with replacement. Below ``FOR_BOOTSTRAP`` values
    Student's t, for such percentiles would leave out the true mean in a quarter of all samples of
    three; above ``LARGE`` the normal distribution's, which they come to be. Values that count
    differently are as few as equal ones that say as much (``effective``).

    Args:
        values: Of clients, say.
        weights: How much each counts in the mean; None: all the same.

    Returns:
        (low, high); both None below two values that count.
    """
    if weights is not None:  # who counts nothing is not there
        values, weights = values[weights > 0], weights[weights > 0]
    if len(values) < 2:
        return None, None
    count = len(values) if weights is None else round(effective(weights), 9)
    # so many values, of which few count, would take the bootstrap minutes
    if count < FOR_BOOTSTRAP or len(values) > LARGE >= count:
        low, high = _students(values, np.ones(len(values)) if weights is None else weights)
        return round(low, 12), round(high, 12)
    if count > LARGE:
        low, high = of_error(*_mean_and_error(values, weights))
        return round(low, 12), round(high, 12)
    rng = np.random.default_rng(SEED)
    step = max(1, BATCH // len(values))
    drawn = (
        rng.integers(len(values), size=(min(step, DRAWS - done), len(values)))
        for done in range(0, DRAWS, step)
    )
    if weights is None:
        means = [values[at].mean(1) for at in drawn]
    else:
        means = [(values[at] * weights[at]).sum(1) / weights[at].sum(1) for at in drawn]
    low, high = np.quantile(np.concatenate(means), [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return round(float(low), 12), round(float(high), 12)


def effective(weights: Floats) -> float:
    """How many equal values say as much as those that count differently (Kish).

    >>> effective(np.array([2.0, 2.0])), round(effective(np.array([1000.0, 1.0])), 3)
    (2.0, 1.002)

    Args:
        weights: How much each counts, above 0.

    Returns:
        From 1 to the number of values.
    """
    return float(weights.sum()) ** 2 / float((weights**2).sum())


def _mean_and_error(values: Floats, weights: Floats | None) -> tuple[float, float]:
    if weights is None:
        return float(values.mean()), float(values.std()) / math.sqrt(len(values))
    whole = float(weights.sum())
    mean = float(values @ weights) / whole
    return mean, math.sqrt(float(((weights * (values - mean)) ** 2).sum())) / whole


def _students(values: Floats, weights: Floats) -> tuple[float, float]:
    """By Student's t."""
    mean, error, degrees = _of_sample(values, weights)
    half = student(max(degrees, 1.0)) * error
    return mean - half, mean + half


def _of_sample(values: Floats, weights: Floats) -> tuple[float, float, float]:
    """(mean, its standard error in the population, degrees of freedom). One value alone shows no
    error.

    Each value's squared distance to the mean is divided by what is expected of it where all have
    the same variance: one that has most of the weight is near the mean for that alone (HC2 of
    MacKinnon & White, 1985). Of equal weights this is Bessel's correction, n / (n − 1).
    """
    shares = weights / weights.sum()
    mean = float(values @ shares)
    freedom = 1 - 2 * shares + float((shares**2).sum())
    known = freedom > 0  # else it alone has weight
    squares = (shares[known] * (values[known] - mean)) ** 2 / freedom[known]
    degrees = max(effective(weights) - 1, 1e-9)  # near 0 where one has nearly all of the weight
    return mean, math.sqrt(float(squares.sum())), degrees


def student(degrees: float) -> float:
    """How many standard errors half of the interval has, by Student's t.

    With t = √degrees tan a its density is cos(a) ** (degrees − 1), which is summed up here: scipy
    has the quantile, and takes longer to load than all else that ``show`` does. Of many degrees it
    is the normal distribution's with its first correction.

    Args:
        degrees: Of freedom, at least 1.

    Returns:
        From 1.96.

    >>> round(student(1), 3), round(student(9), 3), round(student(1e9), 3)
    (12.706, 2.262, 1.96)
    """
    if degrees > NEARLY_NORMAL:
        return NORMAL + (NORMAL**3 + NORMAL) / (4 * degrees)
    angles = np.linspace(0, math.pi / 2, STEPS)
    density = np.cos(angles) ** (degrees - 1)
    below = np.cumsum(density[1:] + density[:-1])
    at = float(np.interp(LEVEL * below[-1], below, angles[1:]))
    return math.sqrt(degrees) * math.tan(at)


def over_clients(
    values: Mapping[Any, float | None],
    measure: str | None = None,
    weights: Mapping[Any, float] | None = None,
) -> tuple[float, float] | None:
    """The interval of the mean over clients; None for fewer than two finite values.

    Args:
        values: {client: value}.
        measure: What the values are, beyond whose least and most no end goes; None: differences.
        weights: {client: how much it counts} in the mean; None: all the same.

    Returns:
        (low, high), in the values' unit.
    """
    finite = {k: v for k, v in values.items() if v is not None and math.isfinite(v)}
    counts = None if weights is None else np.array([weights[k] for k in finite], dtype=float)
    low, high = interval(np.array(list(finite.values()), dtype=float), counts)
    if low is None or high is None:
        return None
    if measure is None:
        return low, high
    possible = measure_named(measure)
    return max(low, possible.least), min(high, possible.most)


def half_width(values: Sequence[float]) -> float:
    """Half of the interval of the mean over clients that were drawn, by the normal distribution;
    nan for fewer than two. Quick, for what is shown while a run goes on.

    Args:
        values: Of clients, all finite.

    Returns:
        In the values' unit.
    """
    if len(values) < 2:
        return math.nan
    return NORMAL * float(np.std(values, ddof=1)) / math.sqrt(len(values))


def of_share(share: float, rows: int, level: float = LEVEL) -> tuple[float, float]:
    """Wilson's interval of a share (an accuracy) that was found on so many test rows.

    Args:
        share: In 0..1; what rounding puts beyond is taken for the nearest end.
        rows: At least 1.
        level: How often such an interval holds the true share.

    Returns:
        (low, high), in 0..1.
    """
    z, share = NORMAL_AT((1 + level) / 2), min(max(share, 0.0), 1.0)
    middle = (share + z**2 / (2 * rows)) / (1 + z**2 / rows)
    half = z / (1 + z**2 / rows) * math.sqrt(share * (1 - share) / rows + z**2 / (4 * rows**2))
    return max(0.0, middle - half), min(1.0, middle + half)


def exact_of_share(share: float, rows: int, level: float) -> tuple[float, float]:
    """Clopper and Pearson's interval of a share, for levels at which Wilson's is too short; of more
    than ``MANY`` rows Wilson's, which differs by less than a hundredth of a percentage point.

    Args:
        share: As ``of_share`` has it; the nearest whole number of rows is taken to be right.
        rows: At least 1.
        level: How often, at least, such an interval holds the true share.

    Returns:
        (low, high), in 0..1.
    """
    if rows > MANY:
        return of_share(share, rows, level)
    right, tail = round(min(max(share, 0.0), 1.0) * rows), (1 - level) / 2
    return _least_share(right, rows, tail), 1 - _least_share(rows - right, rows, tail)


def _least_share(right: int, rows: int, tail: float) -> float:
    """The true share at which ``right`` or more of ``rows`` are right in ``tail`` of all samples.

    Found by halving, from sums of the binomial distribution: scipy has the quantile, and loading
    it takes as long as all else that ``show`` does.
    """
    if right == 0:
        return 0.0
    counts = np.arange(right, rows + 1)
    factorials = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, rows + 1)))])  # their logs
    ways = factorials[rows] - factorials[counts] - factorials[rows - counts]
    low, high = 0.0, 1.0
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        logs = ways + counts * math.log(middle) + (rows - counts) * math.log1p(-middle)
        if float(np.exp(logs).sum()) < tail:
            low = middle
        else:
            high = middle
    return low


def of_error(value: float, error: float, level: float = LEVEL) -> tuple[float, float]:
    """The interval of a value with a standard error, by the normal distribution.

    Args:
        value: A number.
        error: Its standard error, in the same unit.
        level: How often such an interval holds the true value.

    Returns:
        (low, high).
    """
    half = NORMAL_AT((1 + level) / 2) * error
    return value - half, value + half


def over_seeds(values: Sequence[float], measure: str) -> tuple[float, float] | None:
    """The interval of the mean over seeds, by Student's t; None for one seed.

    Args:
        values: One a seed.
        measure: What the values are, beyond whose least and most no end goes.

    Returns:
        (low, high), in the values' unit; None where one is not finite, too.
    """
    known = np.asarray(values, dtype=float)
    if len(known) < 2 or not np.isfinite(known).all():
        return None
    half = student(len(known) - 1) * float(known.std(ddof=1)) / math.sqrt(len(known))
    mean, possible = float(known.mean()), measure_named(measure)
    return max(mean - half, possible.least), min(mean + half, possible.most)


class Pair(NamedTuple):
    """A client under a seed. ``who`` is equal for one person under several seeds; where each seed
    deals the samples anew, its clients are others and no two pairs have the same.
    """

    seed: Hashable
    who: Hashable


class SeedMean(NamedTuple):
    """A mean over seeds of means over clients, the variance of that mean, and its degrees of
    freedom.
    """

    mean: float
    variance: float
    degrees: float


def of_seeds(
    values: Sequence[Floats], persons: bool = False, weights: Sequence[Floats] | None = None
) -> SeedMean:
    """What several seeds say of others, whose clients are others, too. Clients of one seed share a
    model and a split, so they are no sample of other seeds.

    The variance has two parts. That between the seeds' means holds the one within them already; the
    latter is added once more, for two or three seeds may have equal means by chance. The degrees
    are Welch and Satterthwaite's, of both parts: few where seeds differ more than their clients.

    Args:
        values: An array of clients' values a seed, none of them empty.
        persons: Whether the n-th client is the same under every seed, nan under one that lacks it:
            a mean over seeds does not make it surer who is drawn.
        weights: How much each value counts in its seed's mean, above 0; None: all the same.

    Returns:
        The mean in the values' unit, its variance in that unit squared, degrees from 1.
    """
    count = len(values)
    each = weights or [np.ones(len(one)) for one in values]
    if persons:
        each = [np.where(np.isnan(one), 0.0, w) for one, w in zip(values, each, strict=True)]
        values = [np.nan_to_num(one) for one in values]
    means = np.array([np.average(one, weights=w) for one, w in zip(values, each, strict=True)])
    between = float(means.var(ddof=1)) / count if count > 1 else 0.0
    samples = [_of_persons(values, each)] if persons else list(zip(values, each, strict=True))
    known = [_of_sample(one, w) for one, w in samples]
    within = sum(error**2 for _, error, _ in known) / len(samples) ** 2
    variance = between + within
    free = sum(degrees for _, _, degrees in known)
    parts = [(between, count - 1), (within, free)]
    spread = sum(part**2 / degrees for part, degrees in parts if part > 0)
    degrees = variance**2 / spread if spread > 0 else 1.0
    return SeedMean(float(means.mean()), variance, max(1.0, degrees))


def _of_persons(values: Sequence[Floats], weights: Sequence[Floats]) -> tuple[Floats, Floats]:
    """(each person's mean over the seeds, what it counts): every seed counts the same."""
    each = np.array([one / one.sum() for one in weights])
    counts = each.sum(0)
    there = counts > 0
    return (np.array(values) * each).sum(0)[there] / counts[there], counts[there]


def over_seeds_and_clients(
    values: Sequence[Floats], persons: bool = False, weights: Sequence[Floats] | None = None
) -> tuple[float, float]:
    """The 95 % interval of the mean over seeds of the means over clients, by Student's t.

    Args:
        values: An array of clients' values a seed, none of them empty.
        persons: As ``of_seeds`` has it.
        weights: How much each value counts in its seed's mean, above 0; None: all the same.

    Returns:
        (low, high), in the values' unit.
    """
    found = of_seeds(values, persons, weights)
    half = student(found.degrees) * math.sqrt(found.variance)
    return round(found.mean - half, 9), round(found.mean + half, 9)


def by_seed(values: Mapping[Pair, float]) -> tuple[list[Floats], bool]:
    """Values of pairs as ``of_seeds`` takes them.

    Args:
        values: {pair: value}.

    Returns:
        (an array a seed, whether the n-th value is the same person's in each, nan under a seed that
        lacks the person).
    """
    seeds = dict.fromkeys(pair.seed for pair in values)
    persons = dict.fromkeys(pair.who for pair in values)
    if len(persons) < len(values):  # somebody is there under two seeds
        each = [[values.get(Pair(seed, who), math.nan) for who in persons] for seed in seeds]
        return [np.array(one, dtype=float) for one in each], True
    by: dict[Hashable, list[float]] = {seed: [] for seed in seeds}
    for pair, value in values.items():
        by[pair.seed].append(value)
    return [np.array(one, dtype=float) for one in by.values()], False


def mean_of_pairs(values: Mapping[Pair, float]) -> float:
    """The mean over seeds of the means over their clients.

    Args:
        values: {pair: value}, of at least one.

    Returns:
        In the values' unit.
    """
    each, _ = by_seed(values)
    return float(np.mean([np.nanmean(one) for one in each]))


def over_pairs(
    values: Mapping[Pair, float], weights: Mapping[Pair, float] | None = None
) -> tuple[float | None, float | None]:
    """The 95 % interval of a mean: of one seed as ``interval`` has it, of several as
    ``over_seeds_and_clients``.

    Args:
        values: {pair: value}.
        weights: {pair: how much it counts}; None: all the same.

    Returns:
        (low, high); both None below two values that count.
    """
    if weights is not None:  # who counts nothing is not there
        values = {pair: value for pair, value in values.items() if weights.get(pair, 1.0) > 0}
    each, persons = by_seed(values)
    counts = None
    if weights is not None:
        counts, _ = by_seed({pair: weights.get(pair, 1.0) for pair in values})
    if len(each) > 1:
        return over_seeds_and_clients(each, persons, counts)
    return interval(each[0], None if counts is None else counts[0]) if each else (None, None)


def ranks(
    each: Sequence[Mapping[Pair, float]],
    higher: bool,
    means: Sequence[float] | None = None,
    weights: Mapping[Pair, float] | None = None,
) -> list[tuple[int, bool]]:
    """(rank, whether it is shared) of each, by the mean of its values; those that cannot be
    distinguished share one.

    Args:
        each: By run or setting, {pair: value}.
        higher: Whether more is better.
        means: What orders them where something else has chosen by it; one that is not finite
            differs from all that are.
        weights: {pair: how much it counts} in those means; None: all the same.

    Returns:
        In the order given; ranks count from 1.

    Who leads a rank is the best of those not ranked yet. It shares the rank with all whose paired
    difference from it has an interval that holds 0; the next rank begins with the first
    who differs. Without a pair in common there is no difference to be seen, and the rank is shared.
    """
    chosen = means is not None
    if means is None:
        means = [float(np.mean(list(one.values()))) if one else -math.inf for one in each]
    order = sorted(range(len(each)), key=lambda k: -means[k] if higher else means[k])
    ranks_of: dict[int, int] = {}
    left = order
    while left:
        lead, place = left[0], len(ranks_of) + 1
        ranks_of[lead] = place
        rest: list[int] = []
        for other in left[1:]:
            lost = chosen and math.isfinite(means[lead]) != math.isfinite(means[other])
            if not rest and not lost and not differ_significantly(each[lead], each[other], weights):
                ranks_of[other] = place
            else:
                rest.append(other)
        left = rest
    counts = list(ranks_of.values())
    return [(ranks_of[k], counts.count(ranks_of[k]) > 1) for k in range(len(each))]


def differ_significantly(
    one: Mapping[Pair, float],
    other: Mapping[Pair, float],
    weights: Mapping[Pair, float] | None = None,
) -> bool:
    """Whether two differ: the interval of their paired differences leaves out 0.

    Args:
        one: {pair: value}.
        other: The same of the other.
        weights: {pair: how much it counts}; None: all the same.

    Returns:
        False without two pairs in common.
    """
    differences = {pair: difference(one[pair], other[pair]) for pair in one if pair in other}
    low, high = over_pairs(differences, weights)
    return low is not None and high is not None and (low > 0 or high < 0)
