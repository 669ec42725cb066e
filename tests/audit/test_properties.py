"""Whether a message gives away properties of its sender."""

import numpy as np
import pytest
import torch

from fedkin.audit.properties import properties

COUNTS = torch.tensor([[30, 0, 10], [0, 8, 0], [5, 5, 90], [0, 40, 10]])
SHARES = (COUNTS / COUNTS.sum(1, keepdim=True)).double().numpy()


def test_who_says_its_shares_says_everything() -> None:
    found = properties(dict(enumerate(7 * SHARES + 3)), COUNTS)
    assert found.has == pytest.approx(1.0, abs=0.1)
    assert found.most == 1.0
    assert found.chance == 0.5  # two of four clients have most of class 1
    assert found.alike == pytest.approx(1.0)
    assert found.clients == 4


def test_what_all_clients_say_alike_tells_nothing_of_one() -> None:
    common = np.array([100.0, 0.0, -50.0])  # a bias that every message has
    with_it = properties(dict(enumerate(SHARES + common)), COUNTS)
    assert with_it.has == pytest.approx(properties(dict(enumerate(SHARES)), COUNTS).has)
    assert with_it.most == 1.0


def test_messages_of_other_clients_say_nothing_of_who_is_alike() -> None:
    others = {0: SHARES[1], 1: SHARES[0], 2: SHARES[3], 3: SHARES[2]}
    assert properties(dict(enumerate(SHARES)), COUNTS).alike == pytest.approx(1.0)
    mixed = {**others, 0: SHARES[2], 3: SHARES[1]}
    assert properties(mixed, COUNTS).alike < 0.9


def test_the_area_is_counted_over_pairs_of_what_is_there_and_what_is_not() -> None:
    """By hand: scores of two clients, classes 0 and 1; the first has class 0 alone, the other both.

    Special scores are ±0.5 in class 0 and ∓0.5 in class 1. There: 0.5 (first, 0), -0.5 (other, 0),
    0.5 (other, 1); not there: -0.5 (first, 1): (1 + 0.5 + 1) / 3 of the pairs are right.
    """
    counts = torch.tensor([[4, 0], [2, 2]])
    found = properties({0: np.array([1.0, 0.0]), 1: np.array([0.0, 1.0])}, counts)
    assert found.has == pytest.approx(2.5 / 3)
    assert found.alike is None  # of two clients there is one pair


def test_who_says_the_opposite_is_wrong_and_who_says_nothing_tells_nothing() -> None:
    wrong = properties(dict(enumerate(-SHARES)), COUNTS)
    assert wrong.has < 0.2
    assert wrong.most < 0.5
    nothing = properties(dict.fromkeys(range(4), np.ones(3)), COUNTS)
    assert nothing.has == 0.5
    assert nothing.most == nothing.chance
    assert nothing.alike is None


def test_the_order_of_clients_changes_nothing_and_others_are_left_out() -> None:
    some = {2: SHARES[2], 0: SHARES[0], 1: SHARES[1]}
    assert properties(some, COUNTS) == properties(dict(sorted(some.items())), COUNTS[:3])
    swapped = properties({0: SHARES[2], 1: SHARES[0], 2: SHARES[1]}, COUNTS)
    assert swapped.most == 0.0


def test_what_every_client_has_is_no_property() -> None:
    everywhere = torch.tensor([[3, 1], [1, 3], [2, 2]])
    found = properties(dict(enumerate(everywhere.double().numpy())), everywhere)
    assert found.has is None
    assert found.most >= found.chance
    assert properties({0: np.ones(2)}, everywhere) is None
