"""A DataFrame as the CSV file that a run keeps of it, and what such a file cannot say: which
columns of digits are words.
"""

import re
from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd

from fedkin.data.tables.kinds import keep_as_text, spelled

DIGITS = re.compile(r"[0-9]+")
LARGEST = 2.0**53  # whole numbers up to here are floats, each of them


def as_csv(frame: pd.DataFrame) -> bytes:
    """The rows of a table, in UTF-8 with commas. Whole numbers are written as such, also where
    pandas has floats for them because of a gap.

    Args:
        frame: With a name for each column.

    Returns:
        What ``read_csv`` reads.
    """
    made = {name: _whole(frame[name]) for name in frame.columns}
    return pd.DataFrame(made).to_csv(index=False).encode()


def categories_in(frame: pd.DataFrame) -> tuple[str, ...]:
    """The columns that hold categories although a file of them would hold numbers: pandas
    categoricals, and texts of digits.

    Args:
        frame: As the caller has it.

    Returns:
        Names of columns.
    """
    return tuple(str(name) for name in frame.columns if _categories(frame[name]))


def names_in(frame: pd.DataFrame) -> tuple[str, ...]:
    """The columns whose cells, as labels, a file would change or make numbers of: "01", or a
    categorical of 0.5 and 1.5.

    Args:
        frame: As the caller has it.

    Returns:
        Names of columns.
    """
    return tuple(
        str(name)
        for name in frame.columns
        if _categories(frame[name])
        and (
            keep_as_text(_words(frame[name])) or not all(map(DIGITS.fullmatch, _words(frame[name])))
        )
    )


def _categories(column: "pd.Series[Any]") -> bool:
    words = _words(column)
    if isinstance(column.dtype, pd.CategoricalDtype):
        return bool(words) and bool(pd.to_numeric(pd.Series(words), errors="coerce").notna().all())
    text = pd.api.types.infer_dtype(column, skipna=True) == "string"
    return text and bool(words) and all(map(DIGITS.fullmatch, words))


def _words(column: "pd.Series[Any]") -> list[str]:
    """The different cells as they are spelled, without gaps."""
    distinct: Iterable[Any] = (
        column.cat.categories
        if isinstance(column.dtype, pd.CategoricalDtype)
        else column.dropna().unique()
    )
    return [spelled(value) for value in distinct]


def _whole(column: "pd.Series[Any]") -> "pd.Series[Any]":
    if isinstance(column.dtype, pd.CategoricalDtype):
        return column.map(spelled, na_action="ignore").astype(object)
    if not pd.api.types.is_float_dtype(column):
        return column
    cells = column.to_numpy(dtype=np.float64, na_value=np.nan)
    there = cells[~np.isnan(cells)]
    if not len(there) or np.abs(there).max() >= LARGEST or (there != np.rint(there)).any():
        return column
    return column.astype("Int64")
