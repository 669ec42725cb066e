"""The statistics against published numbers and against scipy's."""

from itertools import permutations, product

import numpy as np
import pytest
from scipy.stats import chi2, friedmanchisquare, rankdata, ttest_1samp

from fedkin.bench.statistics import (
    agreement,
    chance_of_orders,
    chance_over_seeds,
    critical_difference,
    friedman,
    groups,
    holm,
    ranked,
    whole,
)


@pytest.mark.parametrize(
    ("methods", "q"), [(2, 1.960), (3, 2.343), (4, 2.569), (5, 2.728), (10, 3.164)]
)
def test_the_critical_difference_has_the_published_q(methods: int, q: float) -> None:
    """Demšar (2006), table 5(a), at 5 %."""
    expected = q * np.sqrt(methods * (methods + 1) / (6 * 7))
    assert critical_difference(methods, 7) == pytest.approx(expected, rel=5e-4)


def test_friedman_is_that_of_scipy_with_ties_too() -> None:
    rng = np.random.default_rng(4)
    table = np.round(rng.random((6, 5)), 1)
    ranks = rankdata(-table, axis=1)
    assert friedman(ranks) == pytest.approx(friedmanchisquare(*table.T).statistic)
    scores = {f"m{k}": {f"b{b}": table[b, k] for b in range(6)} for k in range(5)}
    found = ranked(scores)
    assert found is not None
    assert found.p == chance_of_orders(ranks)
    assert sum(found.ranks) == pytest.approx(15)


def test_means_that_differ_in_their_last_bits_share_a_rank() -> None:
    """0.1 + 0.2 is not 0.3: the order of a sum decides its last bits, and no rank."""
    sums = {"a": 0.1 + 0.2, "b": 0.3, "c": 0.6}
    assert sums["a"] > sums["b"]
    found = ranked({name: {"one": value, "two": value} for name, value in sums.items()})
    assert found is not None
    assert dict(zip(found.names, found.ranks, strict=True)) == {"c": 1.0, "a": 2.5, "b": 2.5}
    assert agreement(np.array([[0.1 + 0.2, 0.3, 0.6], [0.3, 0.1 + 0.2, 0.6]])) == 1.0


@pytest.mark.parametrize(
    "rows",
    [
        [[1, 2, 3], [1, 3, 2], [1, 2, 3]],
        [[1.5, 1.5, 3, 4], [1, 2, 4, 3], [2, 1, 3.5, 3.5]],
    ],
)
def test_p_of_friedman_is_that_of_all_orders(rows: list[list[float]]) -> None:
    """Of few blocks χ² has another distribution: it says 0.10 for 0.19, and 0.05 for 0.03."""
    ranks = np.array(rows)
    tables = np.array([*product(*(list(permutations(row)) for row in rows))])
    spreads = ((tables.sum(1) - ranks.sum() / ranks.shape[1]) ** 2).sum(1)
    own = ((ranks.sum(0) - ranks.sum() / ranks.shape[1]) ** 2).sum()
    exact = float((spreads >= own - 1e-9).mean())
    assert chance_of_orders(ranks) == pytest.approx(exact, abs=0.01)
    assert abs(chi2.sf(friedman(ranks), ranks.shape[1] - 1) - exact) > 0.02


def test_many_methods_over_three_federations_are_told_apart() -> None:
    """χ² says 0.0016; of 20,000 drawn orders one is as uneven."""
    rng = np.random.default_rng(0)
    ranks = rankdata(np.arange(40) + rng.normal(0, 16, (3, 40)), axis=1)
    assert chance_of_orders(ranks) < 0.0003
    assert chi2.sf(friedman(ranks), 39) > 0.001


def test_the_highest_score_has_rank_one() -> None:
    scores = {"a": {"x": 0.9, "y": 0.7}, "b": {"x": 0.5, "y": 0.8}, "c": {"x": 0.1, "y": 0.1}}
    found = ranked(scores)
    assert found is not None
    assert found.names[-1] == "c"
    assert found.ranks[-1] == 3.0


def test_who_lacks_a_block_is_left_out_and_too_few_are_not_ranked() -> None:
    scores = {"a": {"x": 1.0, "y": 1.0}, "b": {"x": 0.5, "y": 0.0}, "c": {"x": 2.0}}
    found = ranked(scores)
    assert found is not None
    assert found.names == ["a", "b"]
    assert ranked({"a": {"x": 1.0}, "b": {"x": 0.0}}) is None


def test_groups_hold_what_cannot_be_told_apart() -> None:
    assert groups([1.0, 1.8, 2.5, 4.0], 1.0) == [(0, 1), (1, 2)]
    assert groups([1.0, 3.0], 1.0) == []


def test_holm_never_lowers_a_chance_and_keeps_their_order() -> None:
    found = holm([0.04, 0.001, 0.02, 0.9])
    assert found == [pytest.approx(0.08), pytest.approx(0.004), pytest.approx(0.06), 0.9]
    # 0.041 · 1 is less than 0.03 · 2, and who has the larger chance does not get the smaller one
    assert holm([0.041, 0.01, 0.03]) == pytest.approx([0.06, 0.03, 0.06])
    assert holm([0.9, 0.5]) == [1.0, 1.0]


def test_holm_counts_the_tests_that_others_were_picked_from() -> None:
    assert holm([0.01, 0.004], among=6) == pytest.approx([0.05, 0.024])


def test_orders_that_contradict_each_other_do_not_agree() -> None:
    assert agreement(np.array([[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]])) == 0.0
    assert agreement(np.array([[1.0, 2.0, 3.0]])) is None


def test_mean_ranks_are_ranked_before_they_are_held_together() -> None:
    """Kendall's W is of ranks 1 … k; ties count half."""
    assert agreement(np.array([[1.3, 2.0, 2.7], [1.3, 2.0, 2.7]])) == 1.0
    assert agreement(np.array([[1.5, 1.5, 2.9], [1.1, 1.1, 2.2]])) == 1.0


def test_the_largest_table_without_a_gap_is_ranked() -> None:
    full = {name: dict.fromkeys("xyz", 1.0) for name in "abcd"}
    scores = {**full, "a": dict.fromkeys("wxyz", 1.0), "mine": {"w": 2.0}}
    assert whole(scores) == (["a", "b", "c", "d"], ["x", "y", "z"])
    found = ranked(scores)
    assert found is not None
    assert (found.blocks, found.without, found.skipped) == (3, ("mine",), ("w",))
    assert whole({"a": {"x": 1.0}, "b": {"y": 1.0}}) is None


def test_federations_count_more_than_methods() -> None:
    """4 methods of 3 federations (4 · 9 = 36) before 7 of 2 (7 · 4 = 28), and after 10 (40)."""
    scores = {name: dict.fromkeys("xyz", 1.0) for name in "abcd"}
    more = {name: dict.fromkeys("xy", 1.0) for name in "efg"}
    assert whole(scores | more) == (list("abcd"), list("xyz"))
    most = {name: dict.fromkeys("xy", 1.0) for name in "efghij"}
    assert whole(scores | most) == (list("abcdefghij"), list("xy"))


def test_all_alike_have_no_friedman() -> None:
    assert friedman(np.ones((3, 4))) == 0.0


@pytest.mark.parametrize(("of_seeds", "of_clients"), [(0.0, 1.0), (0.2, 1.0), (1.0, 0.1)])
def test_seeds_that_are_alike_are_seldom_told_apart(of_seeds: float, of_clients: float) -> None:
    """At the 5 % level, whether clients or seeds differ; pooled pairs find 5, 13 and 70 % there."""
    rng = np.random.default_rng(0)
    told = 0
    for _ in range(2000):
        seeds = rng.normal(0, of_seeds, 3)
        told += chance_over_seeds([rng.normal(seed, of_clients, 20) for seed in seeds]) < 0.05
    assert told / 2000 < 0.065


def test_two_seeds_with_the_same_clients_each_are_students_t_of_their_means() -> None:
    values = [np.full(4, 0.2), np.full(4, 0.1), np.full(4, 0.4)]
    assert chance_over_seeds(values) == pytest.approx(ttest_1samp([0.2, 0.1, 0.4], 0).pvalue)
    assert chance_over_seeds([np.zeros(3), np.zeros(2)]) == 1.0
    assert chance_over_seeds([np.ones(3), np.ones(2)]) == 0.0
