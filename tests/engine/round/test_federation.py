"""Who takes part in a round."""

import math
from fractions import Fraction
from types import SimpleNamespace

import pytest
import torch

from fedkin.engine.round.federation import participants


def sampler(sizes, share, sampling="uniform", seed=0):
    infos = {client: SimpleNamespace(samples=size) for client, size in enumerate(sizes)}
    method = SimpleNamespace(needs=SimpleNamespace(sampling=sampling))
    found = SimpleNamespace(infos=infos, participation=share, seed=seed, poisson=False)
    return lambda number: participants(method, found, number)


@pytest.mark.parametrize("clients", [1, 3, 10, 30, 70, 100, 1000])
@pytest.mark.parametrize("share", [0.001, 0.07, 0.1, 0.2, 0.3, 0.333, 0.5, 0.7, 0.9, 1.0])
def test_exactly_so_many_participants(clients, share):
    chosen = sampler([1] * clients, share)(1)
    assert len(chosen) == math.ceil(Fraction(str(share)) * clients)
    assert chosen == sorted(set(chosen))
    assert set(chosen) <= set(range(clients))


def test_seven_percent_of_a_hundred_are_seven():
    assert 0.07 * 100 > 7
    assert len(sampler([1] * 100, 0.07)(1)) == 7


def frequencies(sizes, share, sampling, rounds=2000):
    counts = torch.zeros(len(sizes))
    one = sampler(sizes, share, sampling)
    for number in range(rounds):
        counts[one(number)] += 1
    return counts / rounds


def test_uniform_sampling_is_uniform():
    found = frequencies([1, 10, 100, 1000, 5], 0.4, "uniform")
    assert found.sub(0.4).abs().max() < 4 * math.sqrt(0.4 * 0.6 / 2000)


def test_sampling_by_size():
    sizes = [10, 20, 30, 40]
    found = frequencies(sizes, 0.25, "size")  # one a round: chances are p_k themselves
    assert found.sub(torch.tensor(sizes) / 100).abs().max() < 4 * math.sqrt(0.25 / 2000)
    two = frequencies(sizes, 0.5, "size")
    assert float(two.sum()) == pytest.approx(2)
    assert two.tolist() == sorted(two.tolist())


def test_sampling_by_size_looks_at_each_size_a_few_times():
    """Drawn anew for every client, the sum of all sizes took 25 s a round with 40,000 clients."""

    class Size(int):
        additions = 0

        def __radd__(self, other):
            Size.additions += 1
            return int(self) + other

    sizes = [Size(1 + (7 * k) % 13) for k in range(500)]
    chosen = sampler(sizes, 0.01, "size", seed=4)(3)
    assert Size.additions <= len(sizes)
    assert chosen == [9, 124, 219, 265, 340]  # as before


def test_sampling_is_a_function_of_seed_and_round():
    one, again, other = (sampler([1] * 50, 0.1, seed=seed) for seed in (1, 1, 2))
    assert [one(n) for n in (3, 1, 2)] == [again(n) for n in (3, 1, 2)]
    assert one(1) != one(2)
    assert one(1) != other(1)
