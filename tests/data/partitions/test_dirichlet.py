"""Dirichlet shares: exact, above the floor, distributed as they should."""

import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedkin.data.partitions.dirichlet import fill
from tests.data.partitions.registry_examples import LABELS, distinct, sizes, split


@given(
    clients=st.integers(1, 60),
    alpha=st.sampled_from([1e-3, 0.01, 0.1, 1.0, 100.0]),
    floor=st.integers(0, 12),
    over=st.sampled_from(["clients", "classes"]),
    counts=st.lists(st.integers(0, 90), min_size=1, max_size=12),
    seed=st.integers(0, 9),
)
@settings(max_examples=150, deadline=None)
def test_dirichlet_is_exact_and_keeps_the_floor(
    clients: int, alpha: float, floor: int, over: str, counts: list[int], seed: int
) -> None:
    labels = np.repeat(np.arange(len(counts)), counts)
    if len(labels) < max(clients, clients * floor, 1):
        return
    part = split("dirichlet", clients, seed, labels, alpha=alpha, floor=floor, over=over)
    rows = np.sort(np.concatenate(part.indices))
    np.testing.assert_array_equal(rows, np.arange(len(labels)))
    assert sizes(part).min() >= floor
    if over == "classes":
        assert np.ptp(sizes(part)) <= 1


def test_dirichlet_shares_follow_the_distribution() -> None:
    """Mean 1/K and variance (1/K)(1-1/K)/(K·alpha+1) of a share, over many draws."""
    clients, alpha = 5, 0.5
    labels = np.repeat(np.arange(40), 400)
    shares = []
    for seed in range(30):
        part = split("dirichlet", clients, seed, labels, alpha=alpha, floor=0)
        shares.append(
            np.stack([np.bincount(labels[rows], minlength=40) for rows in part.indices]) / 400
        )
    flat = np.stack(shares)
    assert flat.mean() == pytest.approx(1 / clients)
    assert flat.mean(axis=(0, 2)) == pytest.approx(
        np.full(clients, 0.2), abs=0.03
    )  # no client is preferred
    assert flat.var() == pytest.approx(0.2 * 0.8 / (clients * alpha + 1), rel=0.06)


def test_comets_setting_has_the_sizes_that_are_known_of_it() -> None:
    """Dir_100(0.01) on 10 classes of 6,000: about 40 clients empty, 17-20 above 1,000 (METHODS
    section 11).
    """
    labels = np.repeat(np.arange(10), 6000)
    drawn = np.stack(
        [sizes(split("dirichlet", 100, seed, labels, alpha=0.01, floor=0)) for seed in range(20)]
    )
    assert 35 <= (drawn == 0).sum(axis=1).mean() <= 44
    assert 14 <= (drawn > 1000).sum(axis=1).mean() <= 23
    kinds = np.concatenate(
        [distinct(split("dirichlet", 100, seed, labels, alpha=0.01), labels) for seed in range(5)]
    )
    assert np.mean(kinds <= 2) > 0.85  # the floor leaves clients as one-sided as they were


def test_filling_levels_the_largest_holders_and_touches_nobody_else() -> None:
    held = np.array([0, 3, 12, 40, 90, 95])
    owner = np.repeat(np.arange(6), held)
    labels = np.arange(len(owner)) % 4
    after = fill(owner, labels, 6, 10, np.random.default_rng(0))
    got = np.bincount(after, minlength=6)
    assert got.tolist()[:4] == [10, 10, 12, 40]
    assert sorted(got.tolist()[4:]) == [84, 84]  # 17 taken from 90 + 95 = 185, down to one level
    kept = after == owner
    assert kept[np.isin(owner, [0, 1, 2, 3])].all()


def test_filled_clients_come_from_runs_of_one_donor() -> None:
    labels = np.repeat(np.arange(5), 100)
    owner = np.repeat([0, 1], 250)
    after = fill(owner, labels, 12, 10, np.random.default_rng(0))
    kinds = [len(np.unique(labels[after == k])) for k in range(2, 12)]
    assert np.mean(kinds) < 2


def test_over_classes_mixture_is_met_where_there_is_enough() -> None:
    labels = np.repeat(np.arange(4), 1000)
    part = split("dirichlet", 8, 0, labels, alpha=100.0, over="classes")
    got = np.stack([np.bincount(labels[rows], minlength=4) for rows in part.indices]) / 500
    assert np.abs(got - part.truth["mixture"]).max() < 0.15
    one_sided = split("dirichlet", 8, 0, labels, alpha=0.001, over="classes")
    assert sizes(one_sided).tolist() == [500] * 8


@pytest.mark.parametrize("over", ["clients", "classes"])
def test_ten_thousand_clients_at_alpha_001(over: str) -> None:
    labels = np.random.default_rng(0).integers(0, 10, 60_000)
    start = time.process_time()  # the clock also tells what others do
    part = split("dirichlet", 10_000, 0, labels, alpha=0.01, over=over, floor=5)
    seconds = time.process_time() - start
    print(f"10,000 clients over {over}: {seconds:.3f} s")
    assert sizes(part).min() >= 5
    assert sizes(part).sum() == 60_000
    assert seconds < 20  # 0.03 s on an idle core; a rejection loop would not come back


@pytest.mark.parametrize("alpha", [1e-12, 1e-6, 1e6])
def test_extreme_alpha(alpha: float) -> None:
    part = split("dirichlet", 30, alpha=alpha, floor=3)
    assert sizes(part).sum() == len(LABELS)
    assert sizes(part).min() >= 3
