"""Intervals hold what they should, and ranks that may be chance are ties."""

import math

import numpy as np
import pytest
from scipy.special import stdtrit
from scipy.stats import binom
from statsmodels.stats.proportion import proportion_confint

from fedkin.report import intervals
from fedkin.report.intervals import (
    LARGE,
    LEVEL,
    Pair,
    by_seed,
    differ_significantly,
    exact_of_share,
    interval,
    of_error,
    of_seeds,
    of_share,
    over_clients,
    over_seeds,
    over_seeds_and_clients,
    ranks,
    student,
)


def test_an_interval_of_a_share_is_wilsons() -> None:
    for right, rows in ((0, 4), (3, 7), (50, 50)):
        expected = proportion_confint(right, rows, method="wilson")
        assert of_share(right / rows, rows) == pytest.approx(expected, abs=1e-9)
    assert of_share(5.0, 20) == of_share(1.0, 20)  # of a record that is not its run's
    low, high = of_share(0.5, 4)
    assert high - low > 0.6  # four test rows say next to nothing


def test_an_interval_over_clients_is_near_the_normal_one() -> None:
    rng = np.random.default_rng(0)
    values = dict(enumerate(rng.normal(0.7, 0.1, 200)))
    found = over_clients({**values, 200: None, 201: math.nan})
    assert found is not None
    error = np.std(list(values.values())) / math.sqrt(200)
    assert found == pytest.approx(of_error(float(np.mean(list(values.values()))), error), abs=0.002)
    assert over_clients({0: 0.5, 1: None}) is None


def test_half_of_an_interval_is_students_quantile() -> None:
    for degrees in (1, 1.3, 2, 2.5, 4, 9, 28, 3e4, 1e6, 1e8, 1e300):
        assert student(degrees) == pytest.approx(float(stdtrit(degrees, 0.975)), rel=1e-3)


def test_no_end_is_beyond_what_the_measure_can_be() -> None:
    few = {0: 0.5, 1: 0.9}  # Student's t of two: 0.7 ± 2.5
    assert over_clients(few, "accuracy") == (0.0, 1.0)
    assert over_clients(few, "rmse") == (0.0, pytest.approx(3.241, abs=1e-3))
    assert over_clients(few) == pytest.approx((-1.841, 3.241), abs=1e-3)


def test_an_interval_over_seeds_has_no_accuracy_above_100() -> None:
    low, high = over_seeds([0.9, 0.96, 0.99], "accuracy") or (0, 0)
    assert (low < 0.9, high) == (True, 1.0)


def test_an_interval_over_seeds_is_students() -> None:
    assert over_seeds([5.0, 6.0, 8.0], "rmse") == pytest.approx(
        (19 / 3 - 4.3027 * 1.5275 / 3**0.5, 10.1279), abs=1e-3
    )
    assert over_seeds([1.0], "rmse") is None


def pairs(values):
    """{pair: value} of one seed, of clients by place or by name."""
    by = values if isinstance(values, dict) else dict(enumerate(values))
    return {Pair(0, who): float(value) for who, value in by.items()}


def test_ranks_that_may_be_chance_are_shared() -> None:
    rng = np.random.default_rng(1)
    base = rng.normal(0.5, 0.2, 40)  # clients differ far more than runs
    best, same, worse = (
        pairs(base + by + noise * rng.normal(size=40))
        for by, noise in ((0.1, 0.01), (0.099, 0.01), (0.05, 0.01))
    )
    assert ranks([worse, best, same], higher=True) == [(3, False), (1, True), (1, True)]
    assert ranks([worse, best, same], higher=False) == [(1, False), (2, True), (2, True)]
    assert ranks([best], higher=True) == [(1, False)]
    others = {Pair(0, f"other {pair.who}"): v for pair, v in worse.items()}
    # nobody in common: nothing is seen
    assert ranks([best, others], higher=True) == [(1, True), (1, True)]


def test_a_rank_ends_with_the_first_who_differs() -> None:
    """The last one may be the best by chance, but not while one that stands above it is not."""
    rng = np.random.default_rng(2)
    base = rng.normal(0.5, 0.2, 40)
    noise = rng.normal(size=40)
    best, second = pairs(base + 0.1), pairs(base + 0.05 + 0.001 * noise)
    unsure = pairs(base + 0.04 + 0.5 * (noise - noise.mean()))
    assert ranks([unsure, second, best], higher=True) == [(2, True), (2, True), (1, False)]


def test_seeds_that_disagree_share_a_rank() -> None:
    """Forty clients a seed, better by 0.05 under one seed, worse by 0.02 under the other."""
    gains = {0: 0.05, 1: -0.02}
    clients = [Pair(seed, (seed, k)) for seed in gains for k in range(40)]
    base = dict(zip(clients, np.random.default_rng(3).normal(0.5, 0.2, 80), strict=True))
    better = {pair: base[pair] + gains[pair.seed] for pair in clients}
    assert ranks([better, base], higher=True) == [(1, True), (1, True)]
    pooled = [{Pair(0, pair.who): v for pair, v in one.items()} for one in (better, base)]
    assert ranks(pooled, higher=True) == [(1, False), (2, False)]
    both = {pair: base[pair] + 0.05 for pair in clients}
    assert ranks([both, base], higher=True) == [(1, False), (2, False)]


def test_who_counts_nothing_decides_nothing_under_several_seeds() -> None:
    for persons in (False, True):
        numbers = {
            Pair(seed, k if persons else (seed, k)): (k, 0.1 if k else -9.0)
            for seed in (0, 1)
            for k in range(5)
        }
        one = {pair: value for pair, (_, value) in numbers.items()}
        other = dict.fromkeys(one, 0.0)
        assert not differ_significantly(one, other)
        assert differ_significantly(
            one, other, {pair: float(k > 0) for pair, (k, _) in numbers.items()}
        )


def test_a_person_whom_a_seed_lacks_is_in_the_others() -> None:
    """Three persons, of whom the second seed lacks one: each seed's mean is of its own persons."""
    values = {Pair(0, "a"): 1.0, Pair(0, "b"): 2.0, Pair(0, "c"): 6.0}
    values |= {Pair(1, "a"): 3.0, Pair(1, "b"): 4.0}
    each, persons = by_seed(values)
    assert persons
    found = of_seeds(each, persons)
    assert found.mean == pytest.approx((3.0 + 3.5) / 2)
    # a and b count 1/3 + 1/2, c 1/3: (1/3 · 1 + 1/2 · 3) / (5/6) = 2.2, 3.2 and 6
    shares, means = np.array([5 / 6, 5 / 6, 1 / 3]) / 2, np.array([2.2, 3.2, 6.0])
    expected = 1 - 2 * shares + (shares**2).sum()  # of their squared distances to the mean
    error = float(((shares * (means - 3.25)) ** 2 / expected).sum())
    assert found.variance == pytest.approx(0.25**2 + error)


@pytest.mark.parametrize("apart", [0.0, 0.7])
def test_how_often_the_interval_of_the_same_persons_holds_the_true_mean(
    apart: float,
) -> None:
    """Under three seeds, whose models are better or worse for everybody by ``apart`` sds of 20
    persons' mean, and for each person by as much again.
    """
    rng, hit, wide = np.random.default_rng(5), 0, 0.0
    for _ in range(1000):
        persons = rng.normal(0, 1, 20)
        each = [
            persons + rng.normal(0, apart / math.sqrt(20)) + rng.normal(0, 0.5, 20)
            for _ in range(3)
        ]
        low, high = over_seeds_and_clients(each, persons=True)
        hit += low <= 0 <= high
        wide += (high - low) / 1000
    assert 0.93 < hit / 1000 < 0.995
    assert wide < 2  # 4 errors of a mean of 20 are 0.9


@pytest.mark.rotating
@pytest.mark.parametrize("clients", [2, 3, 5, 10, 29])
@pytest.mark.parametrize("weighed", [False, True])
def test_few_equal_clients_are_seldom_declared_different(clients: int, weighed: bool) -> None:
    """At a level of 95 % one in twenty; percentiles of drawn means have 27 % of three clients."""
    rng = np.random.default_rng(5)
    found = 0
    for _ in range(600):
        one, other = rng.normal(0.7, 0.1, (2, clients))
        weights = pairs(rng.lognormal(0, 1, clients)) if weighed else None
        found += differ_significantly(pairs(one), pairs(other), weights)
    assert found / 600 < 0.08


@pytest.mark.parametrize("weights", [(100, 1), (1000, 1), (1000, 30, 10), (500, 20, 5, 1, 1)])
def test_who_has_nearly_all_of_the_weight_makes_no_mean_sure(weights: tuple[int, ...]) -> None:
    """Two of which one counts a thousand times as much are one value, and say nothing of others."""
    rng, hit = np.random.default_rng(7), 0
    for _ in range(600):
        low, high = interval(rng.normal(size=len(weights)), np.array(weights, dtype=float))
        assert low is not None
        assert high is not None
        hit += low <= 0 <= high
    assert hit / 600 > 0.93


def test_many_clients_have_their_bootstrap_and_who_counts_nothing_is_not_there() -> None:
    values = np.random.default_rng(6).exponential(size=30)
    low, high = interval(values)
    assert low is not None
    assert high is not None
    assert high - values.mean() > values.mean() - low  # a skewed sample has a skewed interval
    low, high = interval(values[:29])
    assert low is not None
    assert high is not None
    assert high - values[:29].mean() == pytest.approx(values[:29].mean() - low)
    assert interval(values[:3], np.array([1.0, 0.0, 0.0])) == (None, None)
    assert interval(values[:3], np.array([1.0, 1.0, 0.0])) == interval(values[:2])
    assert interval(values[:5], np.full(5, 7.0)) == pytest.approx(interval(values[:5]))


@pytest.mark.parametrize("count", [29, 30, 300])
def test_values_of_which_few_count_are_few(count: int) -> None:
    """One with nearly all of the weight says of no other how it differs, however many there are."""
    values, weights = np.linspace(0.1, 0.3, count), np.ones(count)
    weights[0] = 1000.0
    low, high = interval(values, weights)
    assert low is not None
    assert high is not None
    assert low < 0 < high
    assert high - np.average(values, weights=weights) == pytest.approx((high - low) / 2)


@pytest.mark.parametrize("heavy", [3.0, 1000.0])
def test_of_very_many_uneven_values_nothing_is_drawn(
    heavy: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(np.random, "default_rng", None)
    values, weights = np.linspace(0, 1, LARGE + 1000), np.ones(LARGE + 1000)
    weights[:60] = heavy
    low, high = interval(values, weights)
    mean = np.average(values, weights=weights)
    error = math.sqrt(float(((weights * (values - mean)) ** 2).sum())) / float(weights.sum())
    assert (low, high) == pytest.approx(of_error(mean, error), rel=0.05)


def test_the_last_digits_of_an_interval_are_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """They depend on the processor; a page would differ by them."""
    few = interval(np.linspace(0.1, 0.9, 7) ** 3)
    assert few == tuple(round(end, 12) for end in few if end is not None)
    values = np.linspace(0.1, 0.9, 40) ** 3
    for large in (40, 39):  # by drawing again, and by the normal distribution
        monkeypatch.setattr(intervals, "LARGE", large)
        low, high = interval(values)
        assert low is not None
        assert high is not None
        assert (low, high) == (round(low, 12), round(high, 12))
        assert low < values.mean() < high
    mean, error = values.mean(), values.std() / math.sqrt(40)
    assert (low, high) == pytest.approx((mean - 1.96 * error, mean + 1.96 * error), abs=1e-4)


@pytest.mark.parametrize("large", [5000, 10])
def test_weights_are_how_much_each_counts(large: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """As if each were there so many times; equal weights change nothing."""
    monkeypatch.setattr(intervals, "LARGE", large)
    rng = np.random.default_rng(3)
    values, weights = rng.normal(0.2, 1.0, 400), rng.integers(1, 9, 400).astype(float)
    mean = float(values @ weights / weights.sum())
    error = math.sqrt(float(((weights * (values - mean)) ** 2).sum())) / float(weights.sum())
    assert interval(values, weights) == pytest.approx(of_error(mean, error), abs=0.01)
    assert interval(values, np.full(400, 7.0)) == pytest.approx(interval(values), abs=1e-9)


def test_ranks_follow_what_has_chosen() -> None:
    each = [pairs([0.9, 0.5, 0.5]), pairs([0.6, 0.7, 0.7])]
    weights = pairs([98.0, 1.0, 1.0])
    assert ranks(each, True, [0.892, 0.602], weights) == [(1, True), (1, True)]
    steady = [pairs([value] * 9) for value in (0.5, 0.6, 0.4)]
    assert ranks(steady, True, [0.5, 0.6, -math.inf]) == [(2, False), (1, False), (3, False)]
    lost = [pairs([0.5]), {}, {}]
    assert ranks(lost, False, [0.5, math.inf, math.inf]) == [(1, False), (2, True), (2, True)]


def test_of_many_values_the_interval_is_the_normal_distributions() -> None:
    """Beside the bootstrap's of one value fewer; skewed values."""
    values = np.random.default_rng(3).exponential(2.0, LARGE + 1)
    normal, drawn = interval(values), interval(values[:-1])
    half = 1.959964 * values.std() / np.sqrt(len(values))
    assert normal == pytest.approx((values.mean() - half, values.mean() + half), abs=1e-6)
    assert normal == pytest.approx(drawn, abs=0.004)


def test_the_interval_is_over_seeds_and_clients() -> None:
    assert over_seeds_and_clients([np.full(4, 3.0), np.full(9, 3.0)]) == (3.0, 3.0)
    alone = over_seeds_and_clients([np.array([k]) for k in (0.0, 1.0, 5.0)])  # seeds only
    half = 4.3027 * (7 / 3) ** 0.5  # t of two degrees, sd √7 of three
    assert alone == pytest.approx((2 - half, 2 + half), abs=1e-3)
    wide = over_seeds_and_clients([np.array([-9.0, 0.0, 9.0])] * 3)  # clients only
    narrow = over_seeds_and_clients([np.tile([-9.0, 0.0, 9.0], 50)] * 3)
    assert wide[0] < narrow[0] < 0 < narrow[1] < wide[1]
    normal = np.random.default_rng(1).normal(2, 3, 400)
    half = student(399) * normal.std(ddof=1) / 20
    assert over_seeds_and_clients([normal]) == pytest.approx(
        (normal.mean() - half, normal.mean() + half)
    )


def test_the_same_clients_are_drawn_once_for_all_seeds() -> None:
    """Of persons nine equal seeds are as good as one, and their differences cancel out."""
    own = np.random.default_rng(3).normal(1, 5, 50)
    once = over_seeds_and_clients([own])
    assert over_seeds_and_clients([own] * 9, persons=True) == pytest.approx(once)
    low, high = over_seeds_and_clients([own] * 9)
    assert high - low < 0.5 * (once[1] - once[0])
    other = 2 * own.mean() - own
    assert over_seeds_and_clients([own, other], persons=True) == pytest.approx((own.mean(),) * 2)


def test_weights_of_whole_numbers_repeat_a_client() -> None:
    """In its seed's mean: of one seed with weights 1 and 3 the mean is that of 0, 4, 4 and 4; as
    good as 16 / 10 equal clients, of which 0.6 degrees count as 1.
    """
    found = of_seeds([np.array([0.0, 4.0])], weights=[np.array([1.0, 3.0])])
    assert found.mean == 3.0
    assert found.variance == pytest.approx(8 * 10 / 16)  # of 0 and 4 the variance is 8
    assert found.degrees == 1.0


@pytest.mark.rotating
@pytest.mark.parametrize(
    ("seeds", "apart", "least"),
    [
        (2, 0.0, 0.96),
        (3, 0.0, 0.96),
        (2, 9.0, 0.92),
        (3, 9.0, 0.92),
        (2, 0.7, 0.86),
        (3, 0.7, 0.91),
    ],
)
def test_how_often_the_interval_of_several_seeds_holds_the_true_mean(
    seeds: int, apart: float, least: float
) -> None:
    """What docs/compare.md says; ``apart``: sd over seeds, in sds of a client, of which are 20."""
    rng, hit = np.random.default_rng(5), 0
    for _ in range(1000):
        each = [rng.normal(rng.normal(0, apart), 1, 20) for _ in range(seeds)]
        low, high = over_seeds_and_clients(each)
        hit += low <= 0 <= high
    assert hit / 1000 > least


def test_a_counted_share_has_its_interval() -> None:
    """Rule of three: none of n is at most 1 − 0.025^(1/n)."""
    assert exact_of_share(0.0, 20, LEVEL) == (0.0, pytest.approx(1 - 0.025 ** (1 / 20)))
    assert exact_of_share(1.0, 20, LEVEL) == (pytest.approx(0.025 ** (1 / 20)), 1.0)
    for right, rows in ((8, 31), (1, 3), (70_001, 99_999)):
        low, high = exact_of_share(right / rows, rows, LEVEL)
        assert binom.sf(right - 1, rows, low) == pytest.approx(0.025)
        assert binom.cdf(right, rows, high) == pytest.approx(0.025)
