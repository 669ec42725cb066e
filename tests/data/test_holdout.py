"""Train, validation, test: exact sizes, no overlap, no client silently without a split."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedkin.core.errors import FedkinError
from fedkin.core.rng import Key
from fedkin.data.holdout import holdout, split_sizes

FRACTIONS = st.sampled_from(
    [
        (0.6, 0.2, 0.2),
        (0.8, 0.0, 0.2),
        (0.75, 0.0, 0.25),
        (1.0, 0.0, 0.0),
        (0.1, 0.1, 0.5),
        (1 / 3, 1 / 3, 1 / 3),
        (0.01, 0.98, 0.01),
    ]
)


def parts(held, k):  # type: ignore[no-untyped-def]
    return held.train[k], held.val[k], held.test[k]


@given(n=st.integers(3, 400), fractions=FRACTIONS)
@settings(max_examples=200, deadline=None)
def test_sizes_are_exact(n: int, fractions: tuple[float, float, float]) -> None:
    sizes = split_sizes(n, fractions)
    positive = sum(f > 0 for f in fractions)
    assert sum(sizes) == positive or abs(sum(sizes) - n * sum(fractions)) < 0.5 + 1e-9
    assert sum(sizes) <= n
    for size, f in zip(sizes, fractions, strict=True):
        assert (size >= 1) == (f > 0)
        assert abs(size - n * f) < 1 or size == 1 or n * min(g for g in fractions if g > 0) < 1


@given(
    counts=st.lists(st.integers(3, 60), min_size=1, max_size=6),
    fractions=FRACTIONS,
    seed=st.integers(0, 5),
)
@settings(max_examples=80, deadline=None)
def test_splits_are_disjoint_parts_of_the_client(
    counts: list[int], fractions: tuple[float, ...], seed: int
) -> None:
    owner = np.random.default_rng(seed).permutation(np.repeat(np.arange(len(counts)), counts))
    indices = [np.flatnonzero(owner == k) for k in range(len(counts))]
    held = holdout(indices, Key(seed), fractions)
    for k, mine in enumerate(indices):
        joined = np.concatenate(parts(held, k))
        assert len(np.unique(joined)) == len(joined)
        assert np.isin(joined, mine).all()
        if sum(fractions) == pytest.approx(1):
            assert len(joined) == len(mine)


def test_seeded_and_independent_of_other_clients() -> None:
    a, b, c = np.arange(0, 50), np.arange(50, 90), np.arange(90, 200)
    one, same = holdout([a, b], Key(1)), holdout([a, b, c], Key(1))
    for k in range(2):
        for x, y in zip(parts(one, k), parts(same, k), strict=True):
            np.testing.assert_array_equal(x, y)
    assert not np.array_equal(holdout([a], Key(2)).train[0], one.train[0])
    assert not np.array_equal(holdout([a, a], Key(1)).train[1], one.train[0])


def test_every_sample_is_equally_likely_to_be_tested() -> None:
    hits = np.zeros(20)
    for seed in range(400):
        hits[holdout([np.arange(20)], Key(seed), (0.7, 0.0, 0.3)).test[0]] += 1
    assert hits.sum() == 400 * 6
    assert hits.min() > 85
    assert hits.max() < 155


def test_comet_draws_the_train_share_per_client() -> None:
    indices = [np.arange(100 * k, 100 * k + 100) for k in range(300)]
    held = holdout(indices, Key(0), "comet")
    sizes = np.array([len(t) for t in held.train])
    assert set(sizes) == {10, 30, 40}
    assert all(80 < count < 120 for count in np.unique(sizes, return_counts=True)[1])
    np.testing.assert_array_equal(sizes, np.rint(held.share * 100))
    assert {len(v) for v in held.val} == {10}
    assert {len(t) for t in held.test} == {50}


def test_official_rows_are_the_test_set() -> None:
    official = np.zeros(60, bool)
    official[40:] = True
    mine = [np.r_[0:20, 40:45], np.r_[20:40, 45:60]]
    held = holdout(mine, Key(0), (0.6, 0.2, 0.2), official=official)
    assert held.test[0].tolist() == list(range(40, 45))
    assert [len(held.train[0]), len(held.val[0])] == [15, 5]
    assert not official[np.concatenate(held.train + held.val)].any()
    with pytest.raises(FedkinError, match="client 1 holds no official test rows"):
        holdout([mine[0], np.arange(20, 40)], Key(0), official=official)
    with pytest.raises(FedkinError, match="comet"):
        holdout(mine, Key(0), "comet", official=official)


@given(st.lists(st.integers(1, 9), min_size=3, max_size=30), st.integers(0, 20))
@settings(max_examples=80, deadline=None)
def test_groups_stay_whole(lengths: list[int], seed: int) -> None:
    group = np.random.default_rng(seed).permutation(np.repeat(np.arange(len(lengths)), lengths))
    held = holdout([np.arange(len(group))], Key(seed), (0.6, 0.2, 0.2), group=group)
    seen = [set(group[rows]) for rows in parts(held, 0)]
    assert all(seen)
    assert len(set.union(*seen)) == sum(len(s) for s in seen)
    assert sum(len(rows) for rows in parts(held, 0)) == len(group)


def test_groups_come_near_the_fractions() -> None:
    group = np.repeat(np.arange(100), 7)
    held = holdout([np.arange(700)], Key(0), (0.6, 0.2, 0.2), group=group)
    assert [len(rows) for rows in parts(held, 0)] == [420, 140, 140]
    partial = holdout([np.arange(700)], Key(0), (0.1, 0.1, 0.5), group=group)
    assert [len(rows) for rows in parts(partial, 0)] == [70, 70, 350]


@pytest.mark.parametrize(
    ("fractions", "words"),
    [
        ((0.6, 0.3, 0.3), "sum to 1.2"),
        ((0.0, 0.5, 0.5), "nothing to train on"),
        ((0.6, 0.4), "three numbers"),
        ((0.6, -0.2, 0.2), "from 0 to 1"),
        ((float("nan"), 0.2, 0.2), "from 0 to 1"),
        ("commet", "'comet' or three numbers"),
        (0.6, "three numbers"),
        (("a", "b", "c"), "three numbers"),
    ],
)
def test_wrong_fractions(fractions, words: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(FedkinError, match=words):
        holdout([np.arange(10)], Key(0), fractions)


def test_a_client_too_small_is_named() -> None:
    with pytest.raises(
        FedkinError, match=r"client ward-7 has 2 samples, too few for train and val and test"
    ):
        holdout([np.arange(10), np.arange(10, 12)], Key(0), names=("a", "ward-7"))
    with pytest.raises(FedkinError, match=r"client 0 has 2 groups"):
        holdout([np.arange(10)], Key(0), group=np.arange(10) % 2)
    assert len(holdout([np.arange(2)], Key(0), (0.5, 0.0, 0.5)).test[0]) == 1
