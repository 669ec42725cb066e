"""Shamir's sharing: any t of n shares, and no t − 1."""

import os
from itertools import combinations

import numpy as np
import pytest

from fedkin.masks.shares import PARTS, PRIME, SHARE, randomness, recover, split
from fedkin.masks.wire import Refused

EDGES = [bytes(32), b"\xff" * 32, bytes(range(32)), b"\x01" + bytes(31), bytes(31) + b"\x80"]


def _drawn(threshold: int) -> bytes:
    return os.urandom(randomness(threshold))


@pytest.mark.parametrize("secret", EDGES)
def test_any_t_of_n_tell_it(secret: bytes) -> None:
    points = [1, 4, 9, 10_000, 1_000_001]
    shares = dict(zip(points, split(secret, 3, points, _drawn(3))))
    assert {len(share) for share in shares.values()} == {SHARE}
    for chosen in combinations(points, 3):
        few = {point: shares[point] for point in chosen}
        assert recover(few, 3, lambda found: True).secret == secret


def test_fewer_are_refused_and_tell_nothing() -> None:
    points = [1, 2, 3, 4]
    shares = dict(zip(points, split(EDGES[2], 3, points, _drawn(3))))
    with pytest.raises(Refused, match="2 shares of a secret arrived, and 3 are needed"):
        recover({1: shares[1], 2: shares[2]}, 3, lambda found: True)
    # t − 1 shares fit every secret: as a polynomial of a lower degree they give another one
    with pytest.raises(Refused, match="contradict"):
        recover({1: shares[1], 2: shares[2]}, 2, lambda found: found == EDGES[2])


def test_a_share_is_spread_over_the_field() -> None:
    """Of one secret, one client's share is another number every time."""
    seen = {split(bytes(32), 2, [5, 6], _drawn(2))[0] for _ in range(50)}
    assert len(seen) == 50


def test_each_part_of_a_secret_has_a_polynomial_of_its_own() -> None:
    """Of parts with one polynomial, two shares would tell how the one part differs from the
    other.
    """
    numbers = [k + (k << 40) for k in range(1, PARTS + 1)]
    (share,) = split(bytes(32), 2, [5], np.array(numbers, dtype="<u8").tobytes())
    assert np.frombuffer(share, dtype="<u4").tolist() == [5 * k % PRIME for k in numbers]
    drawn = np.arange(1, 2 * PARTS + 1, dtype="<u8").tobytes()
    (share,) = split(bytes(32), 3, [5], drawn)  # the highest power first
    expected = [(25 * k + 5 * (k + PARTS)) % PRIME for k in range(1, PARTS + 1)]
    assert np.frombuffer(share, dtype="<u4").tolist() == expected


def test_the_field_is_a_prime_field() -> None:
    assert PRIME == 2_147_483_647
    assert all(PRIME % k for k in range(2, 46_341))
    assert PARTS * 30 >= 256


def test_many_false_shares_among_more_right_ones() -> None:
    points = list(range(1, 31))
    shares = dict(zip(points, split(EDGES[2], 20, points, _drawn(20))))
    for point in (2, 3, 9):
        other = (int.from_bytes(shares[point][:4], "little") + point) % PRIME
        shares[point] = other.to_bytes(4, "little") + shares[point][4:]
    found = recover(shares, 20, lambda secret: secret == EDGES[2])
    assert found.secret == EDGES[2]
    assert set(found.liars) == {2, 3, 9}


@pytest.mark.parametrize(("part", "number"), [(PARTS - 1, 1 << 16), (0, 1 << 30)])
def test_shares_of_what_is_no_secret_are_refused(part: int, number: int) -> None:
    """The value at 0 has a bit beyond the 32 bytes, or beyond its part of them."""
    words = np.zeros(PARTS, dtype="<u4")
    words[part] = number
    shares = dict.fromkeys((1, 2), words.tobytes())
    with pytest.raises(Refused, match="contradict"):
        recover(shares, 2, lambda found: True)
    words[part] = number - 1
    shares = dict.fromkeys((1, 2), words.tobytes())
    secret = recover(shares, 2, lambda found: True).secret
    assert int.from_bytes(secret, "little") == (number - 1) << (30 * part)
