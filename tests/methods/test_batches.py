"""What every comparison rests on: the batches that both sides see are the right ones, and are fresh
each time.
"""

import numpy as np
import pytest

from fedkin.methods.local import local
from tests.methods.federation import SIZES, Federated, architecture, population


def federated(**schedule):
    return Federated(local(lr=0.1), population(), {"mlr": architecture()}, batch_size=4, **schedule)


@pytest.mark.parametrize("passes", [1, 3])
def test_every_pass_sees_every_sample_once(passes):
    # batches of 4 of 5 samples: 4 and 1. The last, partial batch counts, with weight 1/1.
    run = federated(epochs=passes)
    for client, n in enumerate(SIZES):
        table = run.batches(2, client)
        per_pass = -(-n // 4)
        assert len(table) == passes * per_pass
        for first in range(0, len(table), per_pass):
            seen = [
                int(i)
                for index, weight in table[first : first + per_pass]
                for i in index[weight > 0]
            ]
            assert sorted(seen) == list(range(n))
        assert _means(table)


@pytest.mark.parametrize("draw", ["permuted", "uniform"])
def test_steps_are_full_batches(draw):
    run = federated(steps=7)
    for client, n in enumerate(SIZES):
        table = run.batches(1, client, draw=draw)
        assert len(table) == 7
        assert all((weight > 0).sum() == min(n, 4) for _, weight in table)
        assert _means(table)
        seen = np.concatenate([index[weight > 0] for index, weight in table])
        assert set(seen) <= set(range(n))
        if draw == "permuted":  # 28 draws run through every permutation before the next one
            counts = np.bincount(seen, minlength=n)
            assert counts.max() - counts.min() <= 1 or n <= 4


def test_draws_are_fresh_for_every_round_client_seed_and_purpose():
    run = federated(steps=6)
    other = Federated(
        local(lr=0.1), population(), {"mlr": architecture()}, batch_size=4, steps=6, seed=8
    )
    tables = [
        run.batches(1, 3),
        run.batches(2, 3),
        run.batches(1, 3, purpose="membership"),
        other.batches(1, 3),
    ]
    drawn = {np.array([index for index, _ in table]).tobytes() for table in tables}
    assert len(drawn) == 4
    assert [i.tolist() for i, _ in run.batches(1, 3)] == [i.tolist() for i, _ in run.batches(1, 3)]


def _means(table):
    """Weights are 1 / (real rows) on the first rows and 0 on padding: float32 in the plans."""
    for index, weight in table:
        real = int((weight > 0).sum())
        np.testing.assert_allclose(weight[weight > 0], 1 / real, rtol=1e-7)
        assert (weight[real:] == 0).all()
        assert (index[real:] == 0).all()
    return True
