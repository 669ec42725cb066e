"""What a column's cells are: numbers, booleans or text, decided once over all that it holds."""

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import pandas as pd

Kind = Literal["number", "boolean", "text", "other", "mixed", "nothing"]
BOOLEANS = {"true": 1.0, "false": 0.0}  # in any case, as pandas reads them
ONE_BY_ONE: dict[str, Kind] = {  # what pandas calls the cells of a column of objects
    "boolean": "boolean",
    "string": "text",
    "mixed": "mixed",
    "mixed-integer": "mixed",
}


def kind_of(column: "pd.Series[Any]") -> Kind:
    """What all cells of a column are, gaps aside.

    Args:
        column: As pandas read it.

    Returns:
        "mixed" where they are not of one kind, "other" for dates and the like.
    """
    if not column.notna().any():
        return "nothing"
    if isinstance(column.dtype, pd.CategoricalDtype):
        return kind_of(pd.Series(column.dtype.categories))
    if pd.api.types.is_bool_dtype(column.dtype):
        return "boolean"
    if pd.api.types.is_complex_dtype(column.dtype):
        return "other"
    if pd.api.types.is_numeric_dtype(column.dtype):
        return "number"
    return ONE_BY_ONE.get(pd.api.types.infer_dtype(column, skipna=True), "other")


def differing(frames: Sequence[pd.DataFrame]) -> list[str]:
    """The columns that are of one kind here and of another there.

    Args:
        frames: At least one, of the same columns.

    Returns:
        Their names, in the order of the first frame.
    """
    kinds = [{str(name): kind_of(frame[name]) for name in frame} for frame in frames]
    kinds_of = {name: {one.get(name, "nothing") for one in kinds} for name in kinds[0]}
    return [name for name, of in kinds_of.items() if len(of - {"nothing"}) > 1]


def spelled(value: Any) -> str:
    """A cell as text: 3.0 is 3, as integers with gaps come out of a file.

    Args:
        value: A cell as pandas read it.

    Returns:
        The text that a person would see in the file.
    """
    if (
        isinstance(value, float | np.floating)
        and float(value).is_integer()
        and abs(float(value)) < 2**53
    ):
        return str(int(value))
    return value if isinstance(value, str) else str(value)


def as_text(column: "pd.Series[Any]") -> "pd.Series[Any]":
    """A column whose cells are spelled out.

    Args:
        column: Of one kind.

    Returns:
        The same rows, with the same gaps.
    """
    codes, distinct = pd.factorize(column)
    texts = np.array([*(spelled(value) for value in distinct), None], dtype=object)
    return pd.Series(texts[codes], index=column.index, name=column.name, dtype=object)


def with_text(frame: pd.DataFrame, columns: Sequence[str]) -> pd.DataFrame:
    """A table of which some columns are spelled out.

    Args:
        frame: Stays as it is.
        columns: Their names.

    Returns:
        The same rows and columns.
    """
    frame = frame.copy(deep=False)
    for name in columns:
        frame[name] = as_text(frame[name])
    return frame


def decided(column: "pd.Series[Any]") -> "pd.Series[Any]":
    """A column of text whose cells turn out to be numbers, or booleans, once some were taken out.

    Args:
        column: Of any kind.

    Returns:
        The same rows; as they are where a cell is something else.
    """
    if kind_of(column) != "text":
        return column
    numbers = pd.to_numeric(column, errors="coerce")
    if numbers.notna().equals(column.notna()):
        return numbers
    truths = column.str.lower().map({word: number == 1 for word, number in BOOLEANS.items()})
    return truths if truths.notna().equals(column.notna()) else column


def keep_as_text(names: Sequence[str]) -> bool:
    """Whether names of classes are found again only where cells are read as they are written:
    "007", or "1" beside "other".

    Args:
        names: Of the run's classes.

    Returns:
        Whether a later file's labels are to be read as text.
    """
    values = decided(pd.Series(names, dtype=object))
    return kind_of(values) == "text" or [spelled(value) for value in values] != [*names]
