"""The noise of one client's steps, and how many of them there were."""

import pytest
import torch

from fedkin.core.protected.noise import SampleNoise
from fedkin.core.protected.sealed import Uncovered
from fedkin.core.rng import Secret

SECRET = Secret(bytes(range(32)))
TAKEN = [(1, {"w": (3, 2), "b": (2,)}), (2, {"w": (3, 2)})]


def noise(secret=SECRET, round=5, **given):
    return SampleNoise(
        **{"clip": 0.5, "noise": 4.0, "unit": 0.1, **given}, secret=secret, round=round
    )


def test_steps_are_counted_by_how_often_each_mini_batch_is_used() -> None:
    one = noise()
    assert one.begin([(1, {}), (2, {}), (1, {})], 7) == 1
    assert one.begin([(1, {})], 4) == 2
    assert one.begin([(3, {}), (1, {}), (1, {})], 2) == 3
    assert one.spent == {(2, 1): 9, (1,): 4}


def test_a_draw_that_is_walked_through_again_costs_what_one_step_with_both_gradients_costs():
    """σ of two gradients of one mini-batch is σ / √2, and not that of two draws by chance."""
    one = noise()
    one.begin([(1, {})], 1, [1])
    one.begin([(1, {}), (1, {})], 4, [1])  # as apfl does: its share first, then both models
    assert one.spent == {(3,): 1, (2,): 3}
    one.begin([(1, {})], 2, [1])
    assert one.spent == {(4,): 1, (3,): 1, (2,): 2}
    one.begin([(1, {})], 6, [2])  # another draw
    assert one.spent == {(4,): 1, (3,): 1, (2,): 2, (1,): 6}
    fresh = one.fresh()
    fresh.begin([(1, {})], 2, [1])
    assert (fresh.spent, fresh.walks) == ({(1,): 2}, 1)


def test_pairs_of_draws_are_walked_through_once():
    one = noise()
    one.begin([(1, {}), (2, {})], 3, [1, 2])
    for taken, draws in (([(1, {})], [1]), ([(1, {}), (2, {})], [2, 3])):
        with pytest.raises(Uncovered, match="several times through the same mini-batches"):
            one.begin(taken, 3, draws)


def test_noise_is_the_same_in_however_many_parts() -> None:
    whole = noise().drawn(1, range(6), TAKEN, torch.float32)
    parts = [noise().drawn(1, steps, TAKEN, torch.float32) for steps in (range(4), range(4, 6))]
    assert [{name: tuple(v.shape) for name, v in one.items()} for one in whole] == [
        {"w": (6, 3, 2), "b": (6, 2)},
        {"w": (6, 3, 2)},
    ]
    for place, one in enumerate(whole):
        for name, value in one.items():
            assert torch.equal(value, torch.cat([part[place][name] for part in parts]))
    assert not torch.equal(whole[0]["w"], whole[1]["w"])  # each gradient has its own


def test_another_walk_step_round_or_secret_has_other_noise() -> None:
    def first(one, walk=1, step=0):
        return tuple(one.drawn(walk, range(step, step + 1), TAKEN, torch.float64)[0]["b"][0])

    ways = [
        first(noise()),
        first(noise(), walk=2),
        first(noise(), step=1),
        first(noise(round=6)),
        first(noise(secret=Secret(bytes(32)))),
    ]
    assert len(set(ways)) == 5


def test_its_height_is_clips_times_what_a_sample_weighs() -> None:
    shapes = [(1, {"w": (40_000,)})]
    found = noise().drawn(1, range(1), shapes, torch.float64)[0]["w"]
    assert abs(float(found.std()) / (4.0 * 0.5 * 0.1) - 1) < 0.02
    silent = noise(noise=0.0, clip=float("inf")).drawn(1, range(1), shapes, torch.float64)[0]["w"]
    assert not silent.any()  # and no nan, whatever the clip
