"""Weighted sums of trees that are the same bits in every order, and for every tree of partial sums.

A sum of floating-point numbers depends on its order, because every addition rounds. Here each term
is an integer (``fedkin.core.sums.digits``), so the terms may be added anywhere: at workers, up a
tree, or under masks.
"""

from collections.abc import Iterable

import numpy as np
import torch
from torch import Tensor

from fedkin.core.errors import FedkinError
from fedkin.core.sums.digits import MOST, Whole, deposit, places_for, value_of, weighted
from fedkin.core.tree import Tree, fill, map_tree, named_leaves

WHOLE = float(1 << 53)  # weights, and their sum, are whole numbers up to here


class ExactSum:
    """Σ weight · tree, and Σ weight.

    ``digits[k]`` [n] int64 holds digit k of every number of the sum: all leaves one after another,
    in the order of their paths. ``like`` has an empty tensor [0, *shape] of each leaf's dtype.
    """

    def __init__(self) -> None:
        self.weight = 0.0
        self.terms = 0
        self.like: Tree = None
        self.digits: list[Whole] = []

    def add(self, tree: Tree, weight: float) -> None:
        """One term.

        Args:
            tree: Tensors of finite numbers, of one structure in all terms.
            weight: A whole number, not negative: below 2^29 it loses nothing with numbers of 24
                bits.

        Raises:
            FedkinError: The sum has too many terms to be exact, or a leaf is a number.
        """
        named = _in_order(tree)
        for path, leaf in named:
            if not isinstance(leaf, Tensor):
                raise FedkinError(
                    f"{path} is {leaf!r} in what is summed over clients, which only tensors can "
                    f"be: send torch.tensor({leaf!r}), or leave it out of the sum"
                )
        self._count(weight, 1)
        leaves = [leaf.detach().cpu().reshape(-1) for _, leaf in named]
        if self.like is None:
            self.like = map_tree(lambda leaf: leaf.new_empty((0, *leaf.shape)), tree)
        first, n = 0, sum(leaf.numel() for leaf in leaves)
        for numbers in weighted(leaves, weight):
            places = places_for(numbers)
            while len(self.digits) < places:
                self.digits.append(np.zeros(n, dtype=np.int64))
            after = first + len(numbers)
            deposit(numbers, [digit[first:after] for digit in self.digits[:places]])
            first = after

    def merge(self, other: "ExactSum") -> None:
        """The terms of another sum too; the other one is used up.

        Args:
            other: A sum of trees of the same structure.

        Raises:
            FedkinError: The sum has too many terms to be exact.
        """
        self._count(other.weight, other.terms)
        if self.like is None:
            self.like = other.like
        for k, theirs in enumerate(other.digits):
            if k < len(self.digits):
                self.digits[k] += theirs
            else:
                self.digits.append(theirs)

    def mean(self) -> Tree:
        """Σ weight · tree / Σ weight, rounded to float64 and then to each leaf's dtype.

        Returns:
            A tree of the structure of those that were added.

        Raises:
            ValueError: No tree was added, or no weight above 0.
        """
        if self.like is None or self.weight <= 0:
            raise ValueError("a weighted mean needs at least one tree and a positive total weight")
        if not self.digits:  # no tensor in any tree
            return self.like
        numbers = torch.from_numpy(value_of(self.digits) / self.weight)
        means: dict[str, Tensor] = {}
        first = 0
        for path, leaf in _in_order(self.like):
            shape = leaf.shape[1:]
            here = numbers[first : first + shape.numel()]
            means[path] = here.reshape(shape).to(leaf.dtype, copy=True)
            first += shape.numel()
        return fill(self.like, (means[path] for path, _ in named_leaves(self.like)))

    def packed(self) -> Tree:
        """The sum as a tree that the codec takes; ``unpacked`` reads it.

        Returns:
            A dict of tensors and numbers.
        """
        digits = tuple(torch.from_numpy(digit) for digit in self.digits)
        like = (
            () if self.like is None else (map_tree(_dtype, self.like), map_tree(_shape, self.like))
        )
        return {"digits": digits, "like": like, "terms": self.terms, "weight": self.weight}

    @property
    def nbytes(self) -> int:
        """Bytes of its digits."""
        return sum(digit.nbytes for digit in self.digits)

    def _count(self, weight: float, terms: int) -> None:
        if weight < 0 or weight != int(weight) or self.weight + weight > WHOLE:
            raise ValueError(f"weights of an exact sum are whole numbers up to 2^53, not {weight}")
        if self.terms + terms > MOST:
            raise FedkinError(f"a sum of more than {MOST:,} messages would not be exact")
        self.weight, self.terms = self.weight + weight, self.terms + terms


def sum_of(terms: Iterable[tuple[Tree, float]]) -> ExactSum:
    """Σ weight · tree.

    Args:
        terms: Trees of one structure, each with its weight: a whole number, not negative.

    Returns:
        Their sum and the sum of weights.

    Raises:
        FedkinError: There are too many terms for an exact sum.
    """
    total = ExactSum()
    for tree, weight in terms:
        total.add(tree, weight)
    return total


def unpacked(tree: Tree) -> ExactSum:
    """The sum that ``ExactSum.packed`` made this of.

    Args:
        tree: With "digits", "like", "terms" and "weight".

    Returns:
        A sum with the same digits, number of terms and weight.
    """
    total = ExactSum()
    total.digits = [digit.numpy() for digit in tree["digits"]]
    if tree["like"]:
        total.like = map_tree(lambda one, shape: one.new_empty((0, *shape.tolist())), *tree["like"])
    total.terms, total.weight = tree["terms"], tree["weight"]
    return total


def _dtype(leaf: Tensor) -> Tensor:
    return leaf.new_zeros(())


def _shape(leaf: Tensor) -> Tensor:
    return torch.tensor(leaf.shape[1:], dtype=torch.int64)


def _in_order(tree: Tree) -> list[tuple[str, Tensor]]:
    return sorted(named_leaves(tree), key=lambda leaf: leaf[0])
