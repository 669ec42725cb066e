"""From the cells of a table to what a model takes: fitted once a federation, on
training rows only.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np

from fedkin.core.errors import FedkinError
from fedkin.data.arrays import Array, Ints
from fedkin.data.tables.recipe import Column, Recipe

Scale = Literal["none", "standard"]
WORD = re.compile(r"\w+")
WIDEST = 0.5 + 1e-6  # standard deviation of booleans, half of which are true; rounded


class Number(NamedTuple):
    """(cell − mean) / std; a missing cell becomes ``fill`` first, and with ``flag`` a second output
    is 1 for it.
    """

    name: str
    fill: float
    mean: float
    std: float
    flag: bool
    kind: str = "number"

    @property
    def outputs(self) -> list[str]:
        """What each of its numbers is, in words."""
        return [self.name, *([f"{self.name} is missing"] if self.flag else [])]

    @property
    def of_truths(self) -> bool:
        """Whether its training cells may have been booleans, 1 and 0, by their mean and spread.

        Those of a column that enters as it is are not known, and may.
        """
        constant = self.mean in (0, 1) and self.std == 1
        return constant or (0 <= self.mean <= 1 and self.std <= WIDEST)

    def write(self, out: Array, cells: Array, values: Sequence[str]) -> None:
        """Write the outputs of a column of numbers.

        Args:
            out: [n, outputs] float32, zeros; written to.
            cells: [n] numbers, nan where one is missing.
            values: Not used: numbers have none.
        """
        missing = np.isnan(cells)
        filled = np.where(missing, self.fill, cells.astype(np.float64))
        out[:, 0] = (filled - self.mean) / self.std
        if self.flag:
            out[:, 1] = missing


class Category(NamedTuple):
    """One output a value: 1 where the cell holds it. With ``rest`` one more for all other values,
    ``flag`` for none.
    """

    name: str
    values: tuple[str, ...]
    rest: bool
    flag: bool
    kind: str = "category"

    @property
    def outputs(self) -> list[str]:
        """What each of its numbers is, in words."""
        rest = [f"{self.name} is another"] if self.rest else []
        return [*(f"{self.name} = {value}" for value in self.values), *rest, *self._flags]

    @property
    def _flags(self) -> list[str]:
        return [f"{self.name} is missing"] if self.flag else []

    def write(self, out: Array, cells: Array, values: Sequence[str]) -> None:
        """Write the outputs of a column of categories.

        Args:
            out: [n, outputs] float32, zeros; written to.
            cells: [n] indices into ``values``, nan where one is missing.
            values: What the indices mean in this table, which may have others than training.
        """
        place = {value: position for position, value in enumerate(self.values)}
        other = len(self.values) if self.rest else -1
        none = len(self.values) + self.rest if self.flag else -1
        of = np.array([*(place.get(value, other) for value in values), none])
        position = of[np.where(np.isnan(cells), len(values), cells).astype(np.int64)]
        rows = np.flatnonzero(position >= 0)
        out[rows, position[rows]] = 1


class Words(NamedTuple):
    """A text as a bag of words: one output a word, log(1 + times it occurs); other words are not
    seen.
    """

    name: str
    words: tuple[str, ...]
    kind: str = "words"

    @property
    def outputs(self) -> list[str]:
        """What each of its numbers is, in words."""
        return [f"{self.name} has {word}" for word in self.words]

    def write(self, out: Array, cells: Array, values: Sequence[str]) -> None:
        """Write the outputs of a column of texts.

        Args:
            out: [n, words] float32; written to.
            cells: [n] indices into ``values``, nan where one is missing.
            values: The distinct texts.
        """
        place = {word: position for position, word in enumerate(self.words)}
        # the last is a missing text's
        bags = np.zeros((len(values) + 1, len(self.words)), dtype=np.float32)
        for bag, text in zip(bags, values):
            for word in words_of(text):
                if word in place:
                    bag[place[word]] += 1
        out[:] = np.log1p(bags)[np.where(np.isnan(cells), len(values), cells).astype(np.int64)]


Feature = Number | Category | Words
KINDS: dict[str, type[Number] | type[Category] | type[Words]] = {
    "number": Number,
    "category": Category,
    "words": Words,
}


class Encoding(NamedTuple):
    """The encoding of a table: one feature a column, in the table's order."""

    features: tuple[Feature, ...]

    @property
    def outputs(self) -> list[str]:
        """What each number of an encoded sample is."""
        return [name for feature in self.features for name in feature.outputs]

    def encode(self, x: Array, columns: Sequence[Column]) -> Array:
        """float32 [n, outputs] from cells [n, columns]; ``columns`` say what the cells
        of x mean.

        Args:
            x: Cells [n, columns], nan where one is missing.
            columns: One for each feature, in its order.

        Returns:
            What a model takes.
        """
        out = np.zeros((len(x), len(self.outputs)), dtype=np.float32)
        at = 0
        for feature, cells, column in zip(self.features, x.T, columns, strict=True):
            width = len(feature.outputs)
            feature.write(out[:, at : at + width], cells, column.values)
            at += width
        return out

    def plain(self) -> list[dict[str, Any]]:
        """As JSON has it.

        Returns:
            A dict a column, in their order.
        """
        return [dict(feature._asdict()) for feature in self.features]


def from_plain(features: Sequence[Mapping[str, Any]]) -> Encoding:
    """What ``plain`` gave.

    Args:
        features: One a feature, of JSON's values.

    Returns:
        The encoding.
    """
    return Encoding(tuple(_feature(dict(content)) for content in features))


def _feature(content: dict[str, Any]) -> Feature:
    recipe: Any = KINDS[content["kind"]]
    made: Feature = recipe(
        **{
            key: tuple(value) if isinstance(value, list) else value
            for key, value in content.items()
        }
    )
    return made


def fit(recipe: Recipe, x: Array, rows: Ints) -> Encoding:
    """The encoding of cells x [n, columns], from the rows ``rows`` only: the training rows of all
    clients.

    Everything in it is made of sums over clients (counts of values, sums of cells and of their
    squares), so that a federation can have it by adding up what each client sums. A missing number
    becomes the mean.

    Args:
        recipe: The columns, and how they are scaled.
        x: Cells, nan where one is missing.
        rows: Row numbers of training rows.

    Returns:
        One feature a column.

    Raises:
        FedkinError: The recipe's scale is not known.
    """
    if recipe.scale not in ("none", "standard"):
        raise FedkinError(f"scale={recipe.scale!r} is not known: use 'none' or 'standard'")
    return Encoding(
        tuple(_fit(column, x[rows, at], recipe) for at, column in enumerate(recipe.columns))
    )


def _fit(column: Column, cells: Array, recipe: Recipe) -> Feature:
    missing = np.isnan(cells)
    if column.text:
        return _words(column, cells[~missing], recipe.most)
    if column.values:
        counts = np.bincount(cells[~missing].astype(np.int64), minlength=len(column.values))
        seen = sorted(np.flatnonzero(counts), key=lambda code: (-counts[code], column.values[code]))
        kept = sorted(column.values[code] for code in seen[: recipe.most])
        return Category(column.name, tuple(kept), len(seen) > len(kept), bool(missing.any()))
    exact = cells[~missing].astype(np.float64)
    mean = float(exact.mean()) if len(exact) else 0.0
    if recipe.scale == "none":
        return Number(column.name, mean, 0.0, 1.0, bool(missing.any()))
    constant = len(exact) == 0 or exact.min() == exact.max()
    return Number(
        column.name, mean, mean, 1.0 if constant else float(exact.std()), bool(missing.any())
    )


def _words(column: Column, cells: Array, most: int) -> Words:
    times = np.bincount(cells.astype(np.int64), minlength=len(column.values))
    counts: Counter[str] = Counter()
    for text, often in zip(column.values, times):
        if often:
            for word in set(words_of(text)):
                counts[word] += int(often)
    return Words(
        column.name, tuple(sorted(sorted(counts, key=lambda word: (-counts[word], word))[:most]))
    )


def words_of(text: str) -> list[str]:
    """The words of a text, in lower case.

    Args:
        text: One cell.

    Returns:
        In their order, with repetitions.
    """
    return WORD.findall(text.lower())
