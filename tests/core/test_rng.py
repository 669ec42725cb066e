"""Streams of random numbers: the same for a key, others for every other."""

import itertools

import numpy as np
import pytest
import torch

from fedkin.core.rng import Key, Secret, seeded

KEYS = (Key(3), Key(3, 0), Key(3, -1, 0), Key(3, 0, 0), Key(3, 1, 0), Key(3, 0, 1), Key(4))


def test_keys_that_differ_anywhere_and_purposes_have_streams_of_their_own() -> None:
    drawn = [tuple(key.numpy(what).random(2)) for key in KEYS for what in ("a", "b")]
    drawn += [(key.integer(what), 0) for key in KEYS for what in ("a", "b")]
    assert len(set(drawn)) == len(drawn)
    assert all(0 <= key.integer("a") < 2**63 for key in KEYS)


def test_equal_keys_have_equal_streams_whosever_numbers_they_hold() -> None:
    mine, numpys = Key(5, 3, 4), Key(np.int64(5), np.int64(3), np.int64(4))  # type: ignore[arg-type]
    assert mine == numpys
    assert mine.integer("x") == numpys.integer("x")
    assert mine.numpy("x").random() == numpys.numpy("x").random()


def test_a_stream_does_not_know_what_was_drawn_before() -> None:
    first = Key(3, 1, 2).torch("x")
    one = torch.rand(3, generator=first)
    assert torch.equal(one, torch.rand(3, generator=Key(3, 1, 2).torch("x")))
    assert not torch.equal(one, torch.rand(3, generator=first))


def test_the_numbers_are_those_of_every_machine() -> None:
    """Written down once: another way to draw would change every run that people have kept."""
    assert Key(7, 2, 5).integer("batches") == Key(seed=7, round=2, client=5).integer("batches")
    drawn = Key(0).numpy("sampling").integers(0, 1000, 4).tolist()
    words = [0, int.from_bytes(__import__("hashlib").sha256(b"sampling").digest()[:4], "big"), 0, 0]
    again = np.random.Generator(np.random.Philox(np.random.SeedSequence(words)))
    assert drawn == again.integers(0, 1000, 4).tolist()


def test_secrets_of_others_are_others_and_uniform_numbers_are_never_0() -> None:
    ours = Secret(bytes(range(32)))
    kinds = [ours, ours.of("a"), ours.of("b"), seeded(1), seeded(2)]
    for one, other in itertools.combinations(kinds, 2):
        assert not np.array_equal(one.uniform("n", 1, 3), other.uniform("n", 1, 3))
    found = ours.uniform("n", 1, 50_000)
    assert found.min() > 0
    assert found.max() <= 1
    assert found.mean() == pytest.approx(0.5, abs=0.01)
    assert seeded(1).seeded
    assert seeded(1).of("a").seeded
    assert not ours.of("a").seeded


@pytest.mark.parametrize("size", [1, 7, 40_001])
def test_normal_numbers(size: int) -> None:
    found = seeded(5).normal("noise", 3, size)
    assert found.shape == (size,)
    if size > 1000:
        assert float(found.mean()) == pytest.approx(0, abs=0.02)
        assert float(found.var()) == pytest.approx(1, abs=0.03)
        assert float((found**4).mean()) == pytest.approx(3, abs=0.2)
