"""One CSV file as a DataFrame: every cell arrives, or the line that is wrong is named."""

import csv
import re
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fedkin.core.errors import FedkinError, many
from fedkin.data.formats.memory import room
from fedkin.data.quality.problem import Problem, Unreadable
from fedkin.data.tables.kinds import kind_of

SEPARATORS = (",", ";", "\t", "|")
TAB = "tab"  # as it is typed: a shell swallows the character, and the backslash of \t
TABS = {TAB: "\t", "\\t": "\t"}
UTF_16, LATIN = "utf-16", "latin-1"  # what a file is that is no UTF-8
COLUMNS = 200_000  # of a table: each takes time and some 2 kB, whatever it holds
CELL = 8  # bytes in memory, also of a cell that is not in the file
PIECE = 1 << 20


def read_csv(
    path: Path,
    as_text: Sequence[str],
    separator: str,
    decimal: str,
    encoding: str,
) -> pd.DataFrame:
    """The rows of a file with a header line. ``as_text``: columns whose cells stay as they are
    written ("007"), as those do that are neither all numbers nor all booleans.

    Empty lines at the end hold nothing.

    Args:
        path: A text file.
        as_text: Names of columns.
        separator: What stands between cells: one character, or "tab".
        decimal: What stands before a fraction.
        encoding: Of its bytes.

    Returns:
        A column for each name of the header.

    Raises:
        FedkinError: Something would make cells move or disappear: a line with too few or too many
            cells, a column name given twice, bytes that are not of the encoding. Names the line
            where there is one.
    """
    encoding, separator = _without_mark(encoding), _character(separator)
    with _faults_named(path, encoding):
        names = _header(path, separator, encoding)
        _check_cells(path, len(names))
        with warnings.catch_warnings():
            # pandas guesses in pieces of the file; columns of which the guesses differ are read
            # again below.
            warnings.simplefilter("ignore", pd.errors.DtypeWarning)
            frame = _parsed(path, separator, decimal, encoding, dict.fromkeys(as_text, str))
        frame.columns = pd.Index(names)
        frame = frame if decimal == "." else _with_points(frame, as_text, decimal)
        filled = np.flatnonzero(frame.notna().any(axis=1).to_numpy())
        frame = frame.iloc[: filled[-1] + 1 if len(filled) else 0]
        if frame[names[-1]].isna().any():  # cells that are not there read as empty ones
            _every_line_whole(path, separator, encoding, len(names), len(frame))
    mixed = [name for name in names if kind_of(frame[name]) == "mixed"]
    return written(path, frame, mixed, separator, decimal, encoding)


def written(
    path: Path,
    frame: pd.DataFrame,
    columns: Sequence[str],
    separator: str,
    decimal: str,
    encoding: str,
) -> pd.DataFrame:
    """The rows of a file, of which some columns are read again as the text that stands there.

    Args:
        path: The file.
        frame: What ``read_csv`` made of it.
        columns: Names of columns.
        separator: What stands between cells.
        decimal: What stands before a fraction; in text, a number has a point.
        encoding: Of its bytes.

    Returns:
        The same rows and columns.

    Raises:
        FedkinError: The file is another one by now.
    """
    if not columns:
        return frame
    encoding, separator = _without_mark(encoding), _character(separator)
    at = [place for place, name in enumerate(frame.columns) if name in columns]
    with _faults_named(path, encoding):
        text = _parsed(path, separator, decimal, encoding, str, at).iloc[: len(frame)]
        if len(text) < len(frame):
            raise FedkinError(f"{path} lost rows while it was read: read it again")
    text.columns = frame.columns[at]
    text = text if decimal == "." else _with_points(text, (), decimal)
    frame = frame.copy(deep=False)
    for name in text.columns:
        frame[name] = text[name].to_numpy(dtype=object)
    return frame


def broken_rows(path: Path, separator: str, encoding: str) -> NDArray[np.int64]:
    """Where a file has more lines than rows: a cell in quotes may have several.

    Args:
        path: The file.
        separator: What stands between cells.
        encoding: Of its bytes.

    Returns:
        A number for each line beyond the first of a row: the row's, where the header is row -1;
        ascending. Empty where the file cannot be read.
    """
    beyond: list[int] = []
    try:
        with path.open("rb") as file:
            if not any(b'"' in piece for piece in iter(lambda: file.read(PIECE), b"")):
                return np.array(beyond, dtype=np.int64)
        with path.open(newline="", encoding=_without_mark(encoding)) as text:
            reader, before = csv.reader(text, delimiter=_character(separator)), 0
            for row, _ in enumerate(reader, start=-1):
                beyond += [row] * (reader.line_num - before - 1)
                before = reader.line_num
    except (OSError, UnicodeError, LookupError, csv.Error):
        pass
    return np.array(beyond, dtype=np.int64)


def _character(separator: str) -> str:
    """What stands between cells, by its name in [data]."""
    character = TABS.get(separator, separator)
    if len(character) != 1 or character.isalnum():
        raise FedkinError(
            f"data.separator={separator!r} must be one character that is no letter and no digit, "
            "such as ',' or ';', or the word tab"
        )
    return character


def _without_mark(encoding: str) -> str:
    return "utf-8-sig" if encoding.lower().replace("-", "") == "utf8" else encoding


def _parsed(
    path: Path,
    separator: str,
    decimal: str,
    encoding: str,
    types: Any,
    columns: list[int] | None = None,
) -> pd.DataFrame:
    """All columns, or those at some places, with cells of given types or as pandas guesses."""
    return pd.read_csv(
        path,
        sep=separator,
        decimal=decimal,
        dtype=types,
        usecols=columns,
        # Only an empty cell is empty: a client may well be called NA.
        keep_default_na=False,
        na_values=[""],
        skip_blank_lines=False,
        index_col=False,
        encoding=encoding,
    )


@contextmanager
def _faults_named(path: Path, encoding: str) -> Iterator[None]:
    """Whatever a reader of text raises as one sentence about the file."""
    try:
        yield
    except FedkinError:
        raise
    except UnicodeError:
        known = "UTF-8" if encoding == "utf-8-sig" else encoding
        likely = UTF_16 if marked(path) else LATIN
        sentence = f"{path} is not {known} text"
        why = f"save it as UTF-8, or name what it is with --set data.encoding={likely}"
        problem = Problem(
            "encoding", sentence, f"it is read as {likely}", {"data.encoding": likely}
        )
        raise Unreadable([problem], f"{sentence}: {why}") from None
    except LookupError:
        raise FedkinError(
            f"encoding {encoding!r} is not known: use utf-8, latin-1, cp1252 or utf-16"
        ) from None
    except (
        pd.errors.ParserError,
        pd.errors.EmptyDataError,
        csv.Error,
        ValueError,
        OverflowError,
    ) as error:
        raise FedkinError(
            f"{path} is not a regular table: {str(error).split('error: ')[-1].strip()}"
        ) from None
    except OSError as error:
        raise FedkinError(f"{path} cannot be read: {error.strerror}") from None


def check_columns(path: Path, count: int) -> None:
    """Refuse a table of more columns than can be worked with.

    Args:
        path: The table, for the message.
        count: Its columns.

    Raises:
        FedkinError: They are more than COLUMNS.
    """
    if count > COLUMNS:
        raise FedkinError(
            f"{path} has {many(count, 'column')}, more than {COLUMNS:,}: so many numbers fit an "
            ".npz file"
        )


def _check_cells(path: Path, columns: int) -> None:
    """Refuse short lines under many names: every line, an empty one too, becomes a whole row."""
    check_columns(path, columns)
    with path.open("rb") as file:  # lines may end in a carriage return alone
        pieces = iter(lambda: file.read(PIECE), b"")
        lines = sum(max(piece.count(b"\n"), piece.count(b"\r")) for piece in pieces)
    if lines * columns * CELL > room():
        raise FedkinError(
            f"{path} has {lines:,} lines of {many(columns, 'column')}, more cells than the "
            f"{room():,} bytes hold that one file may take on this machine now"
        )


def marked(path: Path) -> bool:
    """Whether a file begins with the mark of UTF-16, as spreadsheets write it.

    Args:
        path: A file.

    Returns:
        Whether its first two bytes are such a mark.
    """
    with path.open("rb") as file:
        return file.read(2) in (b"\xff\xfe", b"\xfe\xff")


def _header(path: Path, separator: str, encoding: str) -> list[str]:
    with path.open(newline="", encoding=encoding) as file:
        reader = csv.reader(file, delimiter=separator)
        rows = _rows(path, reader)
        head = next(rows, [])
        second = reader.line_num + 1
        first = next(rows, None)
    if any("\0" in name for name in head):
        raise FedkinError(
            f"{path} holds zero bytes between its letters: it is no text, or UTF-16 without "
            "its mark "
            "(--set data.encoding=utf-16-le)"
        )
    if not head:
        raise FedkinError(f"{path} is empty: its first line must name the columns")
    others = [mark for mark in SEPARATORS if mark in head[0] and mark != separator]
    if len(head) == 1 and others:
        raise _one_column(path, others[0], separator)
    twice = [name for name, count in Counter(head).items() if count > 1]
    if twice:
        raise FedkinError(
            f"{path}: column {twice[0]!r} appears twice: give every column its own name"
        )
    if first and len(first) != len(head):
        raise FedkinError(
            f"{path}, line {second}: {len(first)} cells under {len(head)} column names: "
            "separate by commas"
        )
    return head


def _rows(path: Path, reader: Any) -> Iterator[list[str]]:
    """Those of a ``csv.reader``, which names no line where it gives up."""
    while True:
        line = reader.line_num + 1
        try:
            yield next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            most = csv.field_size_limit()
            what = f"a cell has more than {most:,} letters: was a quote never closed?"
            what = what if "field limit" in str(error) else str(error)
            raise FedkinError(f"{path}, line {line}: {what}") from None


def _one_column(path: Path, mark: str, separator: str) -> Unreadable:
    """A file whose cells are separated by another mark than was said."""
    shown, typed = ("a tab", TAB) if mark == "\t" else (repr(mark), repr(mark))
    reads = "fedkin reads commas" if separator == "," else f"data.separator is {separator!r}"
    fix = {"data.separator": TAB if mark == "\t" else mark}
    return Unreadable(
        [Problem("separator", f"{path} is one column", f"it is separated by {shown}", fix)],
        f"{path} is one column: separated by {shown}? {reads}, unless --set data.separator={typed}",
    )


def _with_points(frame: pd.DataFrame, as_text: Sequence[str], decimal: str) -> pd.DataFrame:
    """Numbers among words with a point: pandas leaves a column alone in which one cell is none."""
    number = re.compile(rf"\s*[-+]?\d*{re.escape(decimal)}\d+([eE][-+]?\d+)?\s*")
    made = {}
    for name in frame.columns.difference(list(as_text)):
        if pd.api.types.is_numeric_dtype(frame[name]):
            continue
        codes, distinct = pd.factorize(frame[name])
        cells = [
            cell.replace(decimal, ".") if isinstance(cell, str) and number.fullmatch(cell) else cell
            for cell in distinct
        ]
        made[name] = pd.Series(np.array([*cells, None], dtype=object)[codes], index=frame.index)
    return frame.assign(**made)


def _every_line_whole(path: Path, separator: str, encoding: str, width: int, rows: int) -> None:
    with path.open(newline="", encoding=encoding) as file:
        reader = csv.reader(file, delimiter=separator)
        for number, cells in enumerate(_rows(path, reader)):
            if number > rows:
                return
            if len(cells) != width and width > 1:
                what = (
                    f"{len(cells)} cells under {width} column names"
                    if cells
                    else "the line is empty"
                )
                raise FedkinError(
                    f"{path}, line {reader.line_num}: {what}: was the file cut short?"
                )
