"""The cells of a table's columns, which are numbers, categories or texts, as float64: scaled,
they become float32.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from fedkin.core.errors import FedkinError
from fedkin.data.arrays import Array
from fedkin.data.quality.problem import Problem, Unreadable, typed_setting
from fedkin.data.tables.kinds import BOOLEANS, kind_of, spelled
from fedkin.data.tables.recipe import Column

Place = Callable[[int], str]  # row → where it stands: "patients.csv, line 7"
FEW_WORDS = 8  # different ones among numbers, up to which they are rather marks than categories
LARGEST = float(np.finfo(np.float32).max)  # of a cell: columns may enter as they are
# in a column of numbers; an empty cell anywhere
MISSING = frozenset({"NA", "N/A", "NaN", "nan", "null", "NULL", "?"})


class Cells(NamedTuple):
    """One column as it enters the table: float64 [n], nan where the cell is missing."""

    column: Column
    cells: Array


def cells_of(column: "pd.Series[Any]", place: Place, wanted: str = "auto") -> Cells:
    """A column's cells. ``wanted``: "auto", or "category" or "text" where the user says so.

    Auto: numbers and booleans are numbers, with gaps or without; text is numbers where all of it
    can be read so, and categories where most of it cannot.

    Args:
        column: As pandas read it.
        place: Row → where it stands, in words.
        wanted: "auto", "category" or "text".

    Returns:
        Numbers, with nan where a cell is empty, or indices into sorted values.

    Raises:
        FedkinError: An infinite cell, dates, or a single cell that is no number; names the line and
            says what to do.
    """
    name = str(column.name)
    if pd.api.types.is_datetime64_any_dtype(column) or pd.api.types.is_timedelta64_dtype(column):
        kind, advice = _times(column)
        located = f"{place(0)}: column {name!r} holds {kind}s"
        raise _left(name, kind, located, advice)
    if pd.api.types.is_complex_dtype(column):
        raise _left(
            name,
            "no number",
            f"{place(0)}: column {name!r} holds {column.iloc[0]!r}, not a number",
            "",
        )
    if wanted == "auto" and _are_numbers(column):
        return Cells(Column(name), _numbers(column, place))
    codes, distinct = pd.factorize(column)
    texts = [spelled(value) for value in distinct]
    numbers = None if wanted != "auto" else _as_numbers(name, codes, texts, place)
    if numbers is not None:
        return Cells(Column(name), _finite(name, numbers[codes], place))
    values = sorted(set(texts))
    rank = {value: position for position, value in enumerate(values)}
    of = np.array([*(rank[text] for text in texts), np.nan])  # code -1 is a missing cell
    return Cells(Column(name, tuple(values), wanted == "text"), of[codes])


def numbers_of(
    column: "pd.Series[Any]",
    place: Place,
    truths: bool = True,
    because: str = "the model was trained with numbers there",
) -> Cells:
    """The cells of a column that must hold numbers, as in training.

    Args:
        column: As pandas read it.
        place: Row → where it stands, in words.
        truths: Whether training may have had booleans there, which are 1 and 0.
        because: Why they must be numbers, for the message.

    Returns:
        Numbers, with nan where a cell is empty.

    Raises:
        FedkinError: A cell that is no number; names the line.
    """
    name = str(column.name)
    if pd.api.types.is_datetime64_any_dtype(column) or pd.api.types.is_complex_dtype(column):
        raise FedkinError(f"{place(0)}: column {name!r} holds {column.iloc[0]}, but {because}")
    if _are_numbers(column) and (truths or kind_of(column) != "boolean"):
        return Cells(Column(name), _numbers(column, place))
    codes, distinct = pd.factorize(column)
    texts = [spelled(value) for value in distinct]
    parsed, wrong = _parsed(texts)
    of_words = [BOOLEANS.get(text.lower(), np.nan) for text in texts]
    # booleans beside marks
    if truths and not (np.isnan(of_words) & (wrong | ~np.isnan(parsed[:-1]))).any():
        return Cells(Column(name), np.append(of_words, np.nan)[codes])
    if wrong.any():
        fault = _not_a_number(name, codes, texts, wrong, place)
        raise FedkinError(f"{fault}, but {because}")
    return Cells(Column(name), _finite(name, parsed[codes], place))


def _times(column: "pd.Series[Any]") -> tuple[str, str]:
    """(what a column of times holds, what to write in its place)."""
    if pd.api.types.is_timedelta64_dtype(column):
        return "duration", "write them as numbers, such as hours, or"
    return "date", "turn them into numbers, or"


def _are_numbers(column: "pd.Series[Any]") -> bool:
    """Numbers, or booleans: pandas holds those as objects where one is missing."""
    return pd.api.types.is_numeric_dtype(column) or kind_of(column) == "boolean"


def _as_numbers(name: str, codes: Array, texts: list[str], place: Place) -> Array | None:
    """The number of each distinct text, and nan for code -1; None where they are categories."""
    parsed, wrong = _parsed(texts)
    counts = np.bincount(codes[codes >= 0], minlength=len(texts))
    right = ~np.isnan(parsed[:-1])
    if counts[wrong].sum() >= counts[right].sum() and wrong.any():
        return None
    if wrong.any():
        raise _unparsed(name, codes, texts, wrong, place)
    return parsed


def _parsed(texts: list[str]) -> tuple[Array, Array]:
    """(the number of each text and nan at the end, for a missing cell; which texts are neither
    numbers nor gaps).
    """
    known = np.array([text.strip() in MISSING for text in texts], dtype=bool)
    parsed = pd.to_numeric(pd.Series(texts, dtype=object), errors="coerce").to_numpy(
        dtype=np.float64
    )
    return np.append(parsed, np.nan), np.isnan(parsed) & ~known


def _not_a_number(name: str, codes: Array, texts: list[str], wrong: Array, place: Place) -> str:
    rows = np.flatnonzero(wrong[codes] & (codes >= 0))
    more = f" (and {len(rows) - 1} more like it)" if len(rows) > 1 else ""
    return f"{place(int(rows[0]))}: column {name!r} holds {texts[codes[rows[0]]][:40]!r}{more}"


def _numbers(column: "pd.Series[Any]", place: Place) -> Array:
    return _finite(str(column.name), column.to_numpy(dtype=np.float64, na_value=np.nan), place)


def _finite(name: str, cells: Array, place: Place) -> Array:
    infinite = np.flatnonzero((cells > LARGEST) | (cells < -LARGEST))
    if len(infinite):
        located = f"{place(int(infinite[0]))}: column {name!r} is infinite or too large for float32"
        raise _left(name, "infinite", located, "correct it, or")
    return cells


def _left(name: str, kind: str, located: str, instead: str) -> Unreadable:
    """A column that can only be left out as it stands."""
    fix: dict[str, Any] = {"data.drop": [name]}
    why = f"{instead} leave the column out".strip()
    sentence = f"{located}: {why}: {typed_setting('data.drop', [name])}"
    return Unreadable([Problem(kind, located, why, fix, None, (name,))], sentence)


def _unparsed(name: str, codes: Array, texts: list[str], wrong: Array, place: Place) -> Unreadable:
    """Words among the numbers of a column: a few different ones may stand for nothing, many are
    categories.
    """
    located = f"{_not_a_number(name, codes, texts, wrong, place)}, which is not a number"
    rows = int((wrong[codes] & (codes >= 0)).sum())
    words = [text for text, one in zip(texts, wrong, strict=True) if one]
    missing = {"data.missing": {name: sorted({word.strip() for word in words})}}
    categories = {"data.categorical": [name]}
    why = (
        "correct it, say what stands for nothing: "
        f"{typed_setting('data.missing', missing['data.missing'])}, or that "
        if len(words) <= FEW_WORDS
        else "correct it, or say that "
    ) + f"the column holds categories: {typed_setting('data.categorical', [name])}"
    fix: dict[str, Any] = missing if len(words) <= FEW_WORDS else categories
    brief = (
        "what is no number is taken as missing"
        if fix is missing
        else "the column is taken for categories"
    )
    problem = Problem("words among numbers", located, brief, fix, rows / len(codes), (name,))
    return Unreadable([problem], f"{located}: {why}")
