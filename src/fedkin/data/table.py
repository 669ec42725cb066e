"""CSV and Parquet tables: one row a sample, a label column, perhaps a client column, numbers in all others."""

import csv
import warnings
from collections.abc import Callable
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd

from fedkin.core.errors import FedkinError
from fedkin.data.source import Array, Source, classified, text

SUFFIXES = (".csv", ".parquet")
TableTask = Literal["auto", "classification", "regression"]
Scale = Literal["none", "standard"]
Place = Callable[[int], str]


def read_table(
    path: Path,
    *,
    client: str | None = None,
    label: str = "label",
    task: TableTask = "auto",
    scale: Scale = "none",
) -> Source:
    """A Source with float32 features [n, columns] from a .csv (comma, header line) or .parquet file.

    ``task="auto"``: a label column with a fraction in it is regression; text, booleans and whole numbers are classes,
    numbered in sorted order (``class_names`` keeps the values). ``scale="standard"``: each feature column less its
    mean, over its standard deviation, both of ALL rows (later test rows too; labels are not looked at). No row is ever
    dropped: an empty, non-numeric or infinite cell is a FedkinError with its column and its line (CSV) or row (Parquet,
    from 0).
    """
    if task not in ("auto", "classification", "regression"):
        raise FedkinError(f"task={task!r} is not known: use 'auto', 'classification' or 'regression'")
    if scale not in ("none", "standard"):
        raise FedkinError(f"scale={scale!r} is not known: use 'none' or 'standard'")
    is_csv = path.suffix.lower() == ".csv"
    frame = _csv(path, [client] if client else []) if is_csv else _parquet(path)
    place: Place = _line if is_csv else _row
    columns = [str(name) for name in frame.columns]
    frame.columns = pd.Index(columns)
    for role, name in (("label", label), ("client", client)):
        if name is not None and name not in columns:
            raise _missing(path, role, name, columns)
    if len(frame) == 0:
        raise FedkinError(f"{path} has no rows")
    for name in (label, *([client] if client else [])):
        empty = np.flatnonzero(frame[name].isna().to_numpy())
        if len(empty):
            raise FedkinError(f"{path}, {place(int(empty[0]))}: column {name!r} is empty")
    wanted = [name for name in columns if name not in (label, client)]
    if not wanted:
        raise FedkinError(f"{path} has no feature columns besides {label!r}: add numeric columns")
    x = np.stack([_numbers(frame[name], path, place, _remedy(name, client)) for name in wanted], axis=1)
    y, names = _labels(frame[label], task, path, place)
    return classified(
        path.stem,
        standardised(x) if scale == "standard" else x,
        y,
        where=str(path),
        class_names=names,
        client=None if client is None else _clients(frame[client]),
    )


def standardised(x: Array) -> Array:
    """Each column of float32 [n, columns] with mean 0 and standard deviation 1; a constant column becomes 0."""
    exact = x.astype(np.float64)
    constant = x.min(axis=0) == x.max(axis=0)
    deviation = np.where(constant, 1.0, exact.std(axis=0))
    scaled: Array = np.where(constant, 0.0, (exact - exact.mean(axis=0)) / deviation).astype(np.float32)
    return scaled


def _csv(path: Path, as_text: list[str]) -> pd.DataFrame:
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            rows = csv.reader(file)
            head, first = next(rows, []), next(rows, None)
        if not head:
            raise FedkinError(f"{path} is empty: its first line must name the columns")
        if len(head) == 1 and (marks := [mark for mark in (";", "\t") if mark in head[0]]):
            raise FedkinError(f"{path} is one column: separated by {marks[0]!r}? fedkin reads commas")
        twice = [name for name in head if head.count(name) > 1]
        if twice:
            raise FedkinError(f"{path}: column {twice[0]!r} appears twice: give every column its own name")
        if first and len(first) != len(head):
            raise FedkinError(f"{path}, line 2: {len(first)} cells under {len(head)} column names: separate by commas")
        with warnings.catch_warnings():
            # Mixed types in a column are found, and named, below.
            warnings.simplefilter("ignore", pd.errors.DtypeWarning)
            frame = pd.read_csv(
                path,
                dtype=dict.fromkeys(as_text, str),
                # Only an empty cell is empty: a client may well be called NA.
                keep_default_na=False,
                na_values=[""],
                skip_blank_lines=False,
                index_col=False,
                encoding="utf-8-sig",
            )
    except FedkinError:
        raise
    except UnicodeDecodeError:
        raise FedkinError(f"{path} is not UTF-8 text: save it as UTF-8") from None
    except (pd.errors.ParserError, csv.Error) as error:
        raise FedkinError(f"{path} is not a regular table: {str(error).split('error: ')[-1].strip()}") from None
    except OSError as error:
        raise FedkinError(f"{path} cannot be read: {error.strerror}") from None
    # Empty lines at the end hold nothing; an empty line in between is an error further on.
    filled = np.flatnonzero(frame.notna().any(axis=1).to_numpy())
    return frame.iloc[: filled[-1] + 1 if len(filled) else 0]


def _parquet(path: Path) -> pd.DataFrame:
    try:
        return pd.read_parquet(path).reset_index(drop=True)
    except ImportError:
        raise FedkinError(f"{path}: reading Parquet needs pyarrow: install fedkin[parquet]") from None
    except OSError as error:
        raise FedkinError(f"{path} cannot be read: {error.strerror or 'it is damaged'}") from None
    except Exception as error:  # pyarrow's errors cannot be named where it is not installed
        raise FedkinError(f"{path} is not a readable Parquet file: {str(error).splitlines()[0]}") from None


def _line(row: int) -> str:
    return f"line {row + 2}"


def _row(row: int) -> str:
    return f"row {row}"


def _missing(path: Path, role: str, name: str, columns: list[str]) -> FedkinError:
    near = get_close_matches(name, columns, n=1, cutoff=0.6)
    hint = f": did you mean {near[0]!r}? Name" if near else ": name"
    remedy = f"{hint} it with --set data.{role}=COLUMN"
    more = f", … {len(columns)} in all" if len(columns) > 12 else ""
    return FedkinError(f"{path} has no {role} column {name!r}{remedy} (columns: {', '.join(columns[:12])}{more})")


def _remedy(name: str, client: str | None) -> str:
    either = "" if client else f", or name it as the client: --set data.client={name}"
    return f"turn text into numbers, or leave the column out{either}"


def _numbers(column: "pd.Series[Any]", path: Path, place: Place, remedy: str) -> Array:
    """One column as finite float32; ``remedy`` is what to do about text."""
    numeric = pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_complex_dtype(column)
    values = pd.to_numeric(column, errors="coerce") if not numeric else column
    empty, bad = column.isna().to_numpy(), values.isna().to_numpy()
    if empty.any():
        raise FedkinError(f"{path}, {place(int(empty.argmax()))}: column {column.name!r} is empty")
    if bad.any() or not numeric:
        row = int(bad.argmax())
        found = f"column {column.name!r} holds {str(column.iloc[row])!r}"
        raise FedkinError(f"{path}, {place(row)}: {found}, which is not a number: {remedy}")
    with np.errstate(over="ignore"):
        numbers: Array = values.to_numpy(dtype=np.float32)
    infinite = ~np.isfinite(numbers)
    if infinite.any():
        row = int(infinite.argmax())
        raise FedkinError(f"{path}, {place(row)}: column {column.name!r} is infinite or too large for float32")
    return numbers


def _labels(column: "pd.Series[Any]", task: TableTask, path: Path, place: Place) -> tuple[Array, tuple[str, ...]]:
    """Regression targets as float64 without names, or class numbers with the sorted values as names."""
    fractional = pd.api.types.is_float_dtype(column) and bool((column % 1 != 0).any())
    if task == "regression" or (task == "auto" and fractional):
        remedy = "regression needs numbers, set data.task=classification for classes"
        return _numbers(column, path, place, remedy).astype(np.float64), ()
    if pd.api.types.is_float_dtype(column) and not fractional:
        column = column.astype("int64")
    plain = pd.api.types.is_integer_dtype(column) or pd.api.types.is_float_dtype(column)
    values, numbers = np.unique(
        column.to_numpy() if plain else column.astype(str).to_numpy(dtype=str), return_inverse=True
    )
    return numbers.astype(np.int64), tuple(str(value) for value in values)


def _clients(column: "pd.Series[Any]") -> Array:
    """Client labels, as integers where the file's type is integer, otherwise as text."""
    return text(column.to_numpy() if pd.api.types.is_integer_dtype(column) else column.astype(str).to_numpy(dtype=str))
