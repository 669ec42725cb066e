"""Exact sums: no order and no tree of partial sums changes a bit."""

import random
from fractions import Fraction
from itertools import permutations

import pytest
import torch

from fedkin.core.errors import FedkinError
from fedkin.core.sums import exact
from fedkin.core.sums.exact import ExactSum, unpacked
from fedkin.core.tree import leaves, map_tree, weighted_mean
from fedkin.engine.codec import decode, encode


def message(seed: int, size: float = 1.0):
    g = torch.Generator().manual_seed(seed)
    return {
        "parameters": {
            "w": torch.randn(3, 5, generator=g) * size * 10.0 ** (seed % 7 - 3),
            "a": torch.randn(7, generator=g, dtype=torch.float64) * size,
            "buffer:none": torch.empty(2, 0),
            "h": torch.randn(4, generator=g).to(torch.bfloat16),
        },
        "control": (torch.randn((), generator=g), torch.tensor(seed)),
    }


def total_of(terms) -> ExactSum:
    total = ExactSum()
    for tree, weight in terms:
        total.add(tree, weight)
    return total


def tree_of(terms, fan_in: int) -> ExactSum:
    """The sum up a tree in which every inner node adds ``fan_in`` partial sums."""
    level = [total_of([term]) for term in terms]
    while len(level) > 1:
        merged = []
        for first in range(0, len(level), fan_in):
            node = ExactSum()
            for one in level[first : first + fan_in]:
                node.merge(unpacked(decode(encode(one.packed()))))
            merged.append(node)
        level = merged
    return level[0]


def bits(tree):
    return encode(tree)


TERMS = [(message(seed), float(1 + 37 * seed % 101)) for seed in range(11)]


def test_a_known_mean():
    a, b = {"w": torch.tensor([1.0, -2.0])}, {"w": torch.tensor([5.0, 0.5])}
    assert total_of([(a, 3.0), (b, 1.0)]).mean()["w"].tolist() == [2.0, -1.375]
    assert total_of([(a, 3.0), (b, 1.0)]).weight == 4.0


def test_what_floating_point_loses_is_kept():
    numbers = torch.tensor([2.0**60, 1.0, -(2.0**60), 2.0**-40], dtype=torch.float64)
    terms = [({"w": x}, 1.0) for x in numbers]
    for order in permutations(terms):
        assert total_of(order).mean()["w"].item() == (1.0 + 2.0**-40) / 4


def test_the_mean_is_that_of_pythons_fractions():
    found = total_of(TERMS).mean()
    mass = sum(Fraction(weight) for _, weight in TERMS)
    for at, leaf in enumerate(leaves(found)):
        trees = [leaves(tree)[at].double().reshape(-1).tolist() for tree, _ in TERMS]
        for i in range(leaf.numel()):
            exact = sum(Fraction(w * t[i]) for (_, w), t in zip(TERMS, trees, strict=True)) / mass
            there = torch.tensor(float(exact), dtype=torch.float64).to(leaf.dtype)
            assert leaf.reshape(-1)[i] == there or abs(float(leaf.reshape(-1)[i]) - exact) < 2**-50


@pytest.mark.parametrize("seed", range(6))
def test_no_order_changes_a_bit(seed):
    shuffled = TERMS.copy()
    random.Random(seed).shuffle(shuffled)
    assert bits(total_of(shuffled).mean()) == bits(total_of(TERMS).mean())


@pytest.mark.parametrize("fan_in", [2, 3, 8])
@pytest.mark.parametrize("size", [1.0, 1e-8, 1e9, 1e29])
def test_no_tree_changes_a_bit(fan_in, size):
    terms = [(message(seed, size), float(weight)) for seed, weight in enumerate((5, 1, 90, 7, 2))]
    terms = [*terms, *TERMS]
    random.Random(fan_in).shuffle(terms)
    up = tree_of(terms, fan_in)
    assert bits(up.mean()) == bits(total_of(terms).mean())
    assert (up.terms, up.weight) == (16, total_of(terms).weight)


def test_a_large_leaf_is_packed():
    tree = {"w": torch.arange(1_100_000, dtype=torch.float32).reshape(2, -1)}
    found = unpacked(decode(encode(total_of([(tree, 2.0)]).packed()))).mean()
    assert torch.equal(found["w"], tree["w"])


def test_the_names_of_a_message_may_come_in_any_order():
    w, b = torch.tensor([1.0, 2.0]), torch.tensor([7.0])
    found = total_of([({"w": w, "b": b}, 1.0), ({"b": b, "w": w}, 3.0)]).mean()
    assert list(found) == ["w", "b"]
    assert found["w"].tolist() == [1.0, 2.0]
    assert found["b"].tolist() == [7.0]


def test_a_mean_is_near_the_one_that_adds_in_turn():
    before = weighted_mean([tree for tree, _ in TERMS], [weight for _, weight in TERMS])
    after = total_of(TERMS).mean()
    map_tree(lambda a, b: torch.testing.assert_close(a, b, rtol=1e-6, atol=1e-15), after, before)


def test_messages_are_left_as_they_were():
    tree = message(4)
    before = bits(tree)
    total = total_of([(tree, 5.0)])
    total.mean()["parameters"]["w"].zero_()
    assert bits(tree) == before
    assert bits(total.mean()) == bits(total_of([(tree, 5.0)]).mean())


def test_a_sum_of_nothing_is_refused():
    with pytest.raises(ValueError, match="at least one tree"):
        ExactSum().mean()
    with pytest.raises(ValueError, match="positive"):
        total_of([(message(1), 0.0)]).mean()


@pytest.mark.parametrize("weight", [0.5, -1.0, 2.0**54])
def test_a_weight_that_is_not_exact_is_refused(weight):
    with pytest.raises(ValueError, match="whole numbers"):
        ExactSum().add(message(1), weight)


def test_too_many_terms_are_refused(monkeypatch):
    monkeypatch.setattr(exact, "MOST", 2)
    total = total_of(TERMS[:2])
    with pytest.raises(FedkinError, match="more than 2 messages"):
        total.merge(total_of(TERMS[:1]))


def test_a_sum_of_empty_trees_and_of_no_terms_merges():
    total = ExactSum()
    total.merge(unpacked(decode(encode(ExactSum().packed()))))
    total.add({}, 2.0)
    assert total.mean() == {}


def test_a_number_in_a_message_is_named():
    total = total_of([({"w": torch.ones(2)}, 1.0)])
    for tree, says in [({"w": 3}, "w is 3 in what"), ({"p": ({"k": 0.5},)}, r"p/0/k is 0\.5 in")]:
        with pytest.raises(FedkinError, match=rf"^{says} .*send torch\.tensor\(") as error:
            total.add(tree, 1.0)
        assert error.value.code == "FED-604"
    assert (total.terms, total.weight) == (1, 1.0)
