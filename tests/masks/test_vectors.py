"""Masks cancel in the sum, and only there."""

import itertools

import numpy as np
import pytest

from fedkin.masks.vectors import add_pair, mask_of, packed, unpacked
from fedkin.masks.wire import Refused, Stage, sealed


def key(a: int, b: int) -> bytes:
    return bytes([min(a, b), max(a, b)]) * 16


@pytest.mark.certifies("masks", "closed form")
def test_pairs_cancel_whatever_the_numbers_of_clients() -> None:
    clients, size = (9, 2, 10, 5), 33
    vectors = {k: np.arange(size, dtype=np.uint64) * np.uint64(k) for k in clients}
    plain = sum(vectors.values())
    masked = {k: vector.copy() for k, vector in vectors.items()}
    for one, other in itertools.permutations(clients, 2):
        add_pair(masked[one], key(one, other), one, other)
    total = np.zeros(size, dtype=np.uint64)
    for vector in masked.values():
        total += vector
    assert np.array_equal(total, plain)
    assert not any(np.array_equal(masked[k], vectors[k]) for k in clients)
    without = total - masked[9]
    assert not np.array_equal(without, plain - vectors[9])


def test_a_mask_is_uniform_and_the_beginning_of_a_longer_one() -> None:
    long = mask_of(key(1, 2), 4000)
    assert np.array_equal(long[:7], mask_of(key(1, 2), 7))
    assert long.astype(float).mean() / 2.0**64 == pytest.approx(0.5, abs=0.03)
    assert not np.array_equal(long, mask_of(key(1, 3), 4000))
    assert len(np.unique(long)) == 4000  # no part of it comes again


def test_a_message_of_another_size_or_round_is_refused() -> None:
    vector = np.array([0, 2**64 - 1, 5], dtype=np.uint64)
    blob = packed(4, vector)
    assert np.array_equal(unpacked(4, blob, 3), vector)
    for round, size in ((5, 3), (4, 4), (4, 2)):
        with pytest.raises(Refused):
            unpacked(round, blob, size)
    with pytest.raises(Refused, match="0 bytes of numbers, not 24"):
        unpacked(4, sealed(Stage.MASKED, 4, []), 3)
