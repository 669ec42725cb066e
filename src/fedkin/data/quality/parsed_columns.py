"""A table's columns as faults are looked for in them: cells as numbers, and a sample of rows where
there are many.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from fedkin.data.arrays import Array, Ints
from fedkin.data.tables.recipe import Column

ROWS = 20_000  # that are looked at for leaks; more would tell the same, slower


class ParsedColumn(NamedTuple):
    """One column.

    cells: [n] float, nan where one is missing; of a column of words, indices into ``values``.
    """

    name: str
    cells: Array
    values: tuple[str, ...] = ()

    @property
    def number(self) -> bool:
        """Whether its cells are numbers."""
        return not self.values

    @property
    def missing(self) -> Array:
        """[n] bool: where there is nothing."""
        missing_cells: Array = np.isnan(self.cells)
        return missing_cells

    def at(self, rows: Ints) -> "ParsedColumn":
        """The same column, of these rows.

        Args:
            rows: Row numbers.

        Returns:
            With the same values.
        """
        return self._replace(cells=self.cells[rows])


def parsed_columns(columns: Sequence[Column], x: Array) -> list[ParsedColumn]:
    """The columns of a table of cells x [n, columns], without free texts.

    Args:
        columns: What each column of x means.
        x: Cells [n, columns], nan where one is missing.

    Returns:
        In the order of the table.
    """
    return [
        ParsedColumn(column.name, x[:, at].astype(np.float64), column.values)
        for at, column in enumerate(columns)
        if not column.text
    ]


def too_long(column: ParsedColumn) -> bool:
    """Whether its whole numbers have so many digits that rounding made different ones equal: beyond
    2⁵³, and nearer each other than as many numbers as there are rows.

    Args:
        column: One that a model would see.

    Returns:
        False for a column of words.
    """
    known = column.cells[~column.missing]
    if not column.number or not len(known):
        return False
    step = float(np.spacing(np.abs(known).max()))
    return step > 1 and float(np.ptp(known)) < step * len(known)


def sampled(n: int, most: int = ROWS) -> Ints:
    """Row numbers, ascending: all of n, or ``most`` of them at random, the same ones every time.

    Args:
        n: Rows that there are.
        most: Rows that are looked at.

    Returns:
        int64, at most ``most``.
    """
    if n <= most:
        return np.arange(n)
    rng = np.random.Generator(np.random.Philox(n))
    return np.sort(rng.permutation(n)[:most]).astype(np.int64)


def ranks(cells: Array) -> Array:
    """Cells as whole numbers in their order, a missing one first: equal cells have
    equal numbers.

    Args:
        cells: [n], nan where one is missing.

    Returns:
        int64 [n] from 0.
    """
    filled = np.where(np.isnan(cells), -np.inf, cells)
    return np.unique(filled, return_inverse=True)[1].astype(np.int64)
