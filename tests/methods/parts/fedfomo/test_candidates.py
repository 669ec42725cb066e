"""Whose models FedFomo's server sends to whom."""

import numpy as np
import pytest
import torch

from fedkin.core.rng import Key
from fedkin.methods.parts.fedfomo.candidates import (
    candidates_of,
    most_helpful,
    pick,
    with_gains,
)
from fedkin.methods.parts.fedfomo.pairs import no_pairs
from tests.methods.pairs_matrix import matrix

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


def told():
    """Clients 0 and 2 were sent models and gained; client 3 has not trained."""
    nothing = no_pairs(torch.float64)
    state = {
        "models": (),
        "trained": torch.tensor([True, True, True, False]),
        "affinity": nothing,
        "weights": nothing,
        "candidates": tuple(
            torch.tensor(sent, dtype=torch.int64) for sent in ([2, 1], [], [1], [])
        ),
    }
    gains = {0: [3.0, -1.0, 1.0], 2: [-2.0, 0.0]}
    return with_gains(
        state, {k: torch.tensor(gain, dtype=torch.float64) for k, gain in gains.items()}
    )


def test_gains_by_others_are_affinities_and_all_of_them_are_weights():
    state = told()
    affinity = [[0, -1, 3, 0], [0] * 4, [0, -2, 0, 0], [0] * 4]
    assert matrix(state["affinity"], 4).tolist() == affinity
    assert matrix(state["weights"], 4).tolist() == [[0.25, 0, 0.75, 0], *[[0] * 4] * 3]
    again = with_gains(state, {0: torch.tensor([1.0, 0.5, 0.0], dtype=torch.float64)})
    assert matrix(again["affinity"], 4)[0].tolist() == [0, -0.5, 4, 0]
    assert matrix(state["affinity"], 4).tolist() == affinity
    assert list(again) == ["models", "trained", "affinity", "weights", "candidates"]


def test_candidates_are_others_that_have_trained():
    state = told()
    assert candidates_of(state, 0, 1, 0.0, Key(1, 2)).tolist() == [2]
    assert sorted(candidates_of(state, 0, 3, 1.0, Key(1, 2)).tolist()) == [1, 2]
    assert sorted(candidates_of(state, 3, 3, 0.0, Key(1, 2)).tolist()) == [0, 1, 2]


def test_a_newcomer_begins_with_those_who_helped():
    assert most_helpful(told(), 2).tolist() == [2, 0]  # what hurt does not count
    assert most_helpful(told(), 9).tolist() == [2, 0, 1]
