"""How well one column, or two together, tell the label: cross-fitted on two halves, against
guessing.
"""

import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from fedkin.data.arrays import Array, Ints

NEAREST = 4  # values of the other half around a cell, whose labels tell its own
DEPTH = 6  # of a tree over several columns
FEW = 20  # values up to which a column is a table of values, not a line of numbers


class Label(NamedTuple):
    """y: [n] class numbers, or amounts where ``classes`` is 0."""

    y: Array
    classes: int

    @property
    def errors(self) -> float:
        """What guessing gets wrong: samples outside the largest class, or the squares about the
        mean.
        """
        if not self.classes:
            return float(((self.y - self.y.mean()) ** 2).sum())
        return float(len(self.y) - np.bincount(self.y).max())

    def wrong(self, rows: Ints, predicted: Array) -> float:
        """What ``predicted`` gets wrong of these rows: counts, or squares.

        Args:
            rows: Row numbers that were asked about.
            predicted: [rows] predictions.

        Returns:
            Wrong classes, or the sum of squared errors.
        """
        if self.classes:
            return float((predicted != self.y[rows]).sum())
        return float(((predicted - self.y[rows]) ** 2).sum())


def halves(n: int) -> list[tuple[Ints, Ints]]:
    """(learn from, ask about) twice: a random half each, the same ones every time.

    Args:
        n: Rows.

    Returns:
        Two pairs of row numbers.
    """
    order = np.random.Generator(np.random.Philox(7)).permutation(n).astype(np.int64)
    one, two = order[: n // 2], order[n // 2 :]
    return [(one, two), (two, one)]


def predicted_alone(codes: Ints, label: Label) -> float:
    """The share of guessing's errors that a column removes, in (−∞, 1]; 1: it determines the label.

    Args:
        codes: [n] whole numbers in the order of the column's cells (``ranks``).
        label: the label of these rows.

    Returns:
        0 where guessing makes no error.
    """
    if label.errors <= 0:
        return 0.0
    repeated = len(np.unique(codes)) <= max(FEW, len(codes) // 8)
    ways = [_by_value, _by_neighbours] if repeated else [_by_neighbours]
    return (
        1
        - min(sum(way(codes, label, *parts) for parts in halves(len(codes))) for way in ways)
        / label.errors
    )


def predicted_by_values(codes: Ints, label: Label) -> float:
    """The same for codes without an order: each value has the label that it had in the
    other half.

    Args:
        codes: [n] whole numbers.
        label: The label of these rows.

    Returns:
        A share in (−∞, 1].
    """
    if label.errors <= 0:
        return 0.0
    return 1 - sum(_by_value(codes, label, *parts) for parts in halves(len(codes))) / label.errors


def predicted_together(x: Array, label: Label) -> float:
    """The same for several columns x [n, columns] without gaps, by a small decision tree.

    Args:
        x: Cells without gaps.
        label: The label of these rows.

    Returns:
        A share in (−∞, 1].
    """
    from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

    tree = DecisionTreeClassifier if label.classes else DecisionTreeRegressor
    return _removed_by(tree(max_depth=DEPTH, min_samples_leaf=2, random_state=0), x, label)


def predicted_by_many(x: Array, label: Label) -> float:
    """The same for all the columns x [n, columns] that are left, by fifty random trees.

    Args:
        x: Cells without gaps.
        label: The label of these rows.

    Returns:
        A share in (−∞, 1].
    """
    from sklearn.ensemble import ExtraTreesClassifier, ExtraTreesRegressor

    forest = ExtraTreesClassifier if label.classes else ExtraTreesRegressor
    return _removed_by(forest(50, min_samples_leaf=2, random_state=0), x, label)


def joint(codes: Sequence[Ints]) -> Ints:
    """One number for each combination of codes that occurs.

    Args:
        codes: [n] whole numbers each.

    Returns:
        int64 [n] from 0.
    """
    return np.unique(np.stack(codes), axis=1, return_inverse=True)[1].ravel().astype(np.int64)


def _removed_by(model: Any, x: Array, label: Label) -> float:
    """The share of guessing's errors that one of scikit-learn's models removes."""
    if label.errors <= 0 or not x.shape[1]:
        return 0.0
    wrong = 0.0
    for learn, ask in halves(len(x)):
        with warnings.catch_warnings():
            # it asks whether many classes are amounts: who reads the table has decided that
            warnings.filterwarnings("ignore", "The number of unique classes", UserWarning)
            wrong += label.wrong(ask, model.fit(x[learn], label.y[learn]).predict(x[ask]))
    return 1 - wrong / label.errors


def _by_value(codes: Ints, label: Label, learn: Ints, ask: Ints) -> float:
    values = int(codes.max()) + 1
    if label.classes:
        best = np.full(values, np.bincount(label.y[learn]).argmax())
        # no table of values × classes: both may be thousands
        met, counts = np.unique(codes[learn] * label.classes + label.y[learn], return_counts=True)
        met = met[np.lexsort((-met, counts))]  # the most frequent last, of equal ones the lowest
        best[met // label.classes] = met % label.classes
        return label.wrong(ask, best[codes[ask]])
    counts = np.bincount(codes[learn], minlength=values)
    sums = np.bincount(codes[learn], weights=label.y[learn], minlength=values)
    means = np.where(counts > 0, sums / np.maximum(counts, 1), label.y[learn].mean())
    return label.wrong(ask, means[codes[ask]])


def _by_neighbours(codes: Ints, label: Label, learn: Ints, ask: Ints) -> float:
    learn = learn[np.argsort(codes[learn], kind="stable")]
    at = np.searchsorted(codes[learn], codes[ask])
    low = np.clip(at - NEAREST // 2, 0, max(0, len(learn) - NEAREST))
    near = label.y[learn[np.minimum(low[:, None] + np.arange(NEAREST), len(learn) - 1)]]
    if not label.classes:
        return label.wrong(ask, near.mean(axis=1))
    votes = (near[:, :, None] == near[:, None, :]).sum(axis=2)
    return label.wrong(ask, near[np.arange(len(near)), votes.argmax(axis=1)])
