"""Candidates and affinities of pairs of clients."""

import numpy as np
import pytest
import torch

from fedkin.methods.fedfomo import pick
from fedkin.methods.parts.pairs import added, dense_row, no_pairs

POOL = np.array([0, 2, 3, 5, 6, 7])


AFFINITY = np.array([0.5, 9.0, -1.0, 0.0, 9.0, 2.0, 0.0, 0.0])  # 1 and 4 are not in the pool


def frequencies(epsilon, count=2, times=4000):
    counts = np.zeros(len(AFFINITY))
    for seed in range(times):
        chosen = pick(AFFINITY, POOL, count, epsilon, np.random.default_rng(seed))
        assert len(set(chosen.tolist())) == count
        counts[chosen] += 1
    return counts / times


def test_pick_by_affinity():
    assert frequencies(0.0, times=20).tolist() == [1, 0, 0, 0, 0, 1, 0, 0]


def test_pick_breaks_ties_at_random():
    """Three are not yet tried (affinity 0): the third place goes to each a third of the time."""
    found = frequencies(0.0, count=3)
    np.testing.assert_allclose(found[[3, 6, 7]], 1 / 3, atol=0.03)
    assert found[2] == 0


def test_pick_explores():
    """ε = 1: uniform over the pool. ε = 0.3: best place kept unless both places are given away and
    it is not drawn: 1 − 0.09 · 4/6; the worst only by chance: one place free (0.42) → 1/5, both
    (0.09) → 2/6.
    """
    np.testing.assert_allclose(frequencies(1.0)[POOL], 1 / 3, atol=0.03)
    found = frequencies(0.3)
    assert found[5] == pytest.approx(1 - 0.09 * 4 / 6, abs=0.02)
    assert found[2] == pytest.approx(0.42 / 5 + 0.09 / 3, abs=0.02)
    assert found[[1, 4]].tolist() == [0, 0]


def test_pick_of_a_small_pool_is_all_of_it():
    for epsilon in (0.0, 0.5):
        assert (
            sorted(pick(AFFINITY, POOL, 9, epsilon, np.random.default_rng(0)).tolist())
            == POOL.tolist()
        )
    assert pick(AFFINITY, POOL[:0], 2, 0.5, np.random.default_rng(0)).tolist() == []


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_a_dense_row_is_0_where_nothing_is_known(dtype):
    known = added(
        no_pairs(dtype),
        {
            0: (torch.tensor([1]), torch.tensor([7.0], dtype=dtype)),
            2: (torch.tensor([3, 0]), torch.tensor([0.5, -2.0], dtype=dtype)),
        },
    )
    row = dense_row(known, 2, 5)
    assert row.tolist() == [-2.0, 0.0, 0.0, 0.5, 0.0]
    assert torch.from_numpy(row).dtype == dtype
    assert dense_row(known, 1, 3).tolist() == [0.0, 0.0, 0.0]
