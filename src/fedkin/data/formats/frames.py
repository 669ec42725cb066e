"""Files as one DataFrame, whatever their format: a table, or a folder with a table for
each client.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from fedkin.core.errors import FedkinError, many, some
from fedkin.data.arrays import Mask, check_named
from fedkin.data.formats.columnar import read_arrow, read_parquet
from fedkin.data.formats.csv_dialect import encodings_differ, mixes, separators_differ
from fedkin.data.formats.csv_file import broken_rows, check_columns, read_csv, written
from fedkin.data.formats.memory import within_room
from fedkin.data.quality.problem import Unreadable, merged
from fedkin.data.tables.columns import Place
from fedkin.data.tables.kinds import differing, kind_of, with_text
from fedkin.data.tables.similar_names import folded

NAMED = 10  # files of a folder that are named where more cannot be read
CLIENT = "client"  # the column that a folder of tables gets: the files' names


class Read(NamedTuple):
    """The rows of all files; ``place(row)`` is the file and the line of a row; ``said``: what else
    is worth knowing; ``added``: columns that no file has; ``test``: [n] which rows are official
    test rows, None where no file says so.
    """

    frame: pd.DataFrame
    place: Place
    said: tuple[str, ...] = ()
    added: tuple[str, ...] = ()
    test: Mask | None = None


class Style(NamedTuple):
    """How CSV files are written, and which columns are taken as text."""

    as_text: tuple[str, ...] = ()
    separator: str = ","
    decimal: str = "."
    encoding: str = "utf-8"


def read_file(path: Path, style: Style) -> Read:
    """One table.

    Args:
        path: A .csv, .parquet or .arrow file.
        style: How its text is written.

    Returns:
        The rows, where each stands in the file, and what there is to say of them.

    Raises:
        FedkinError: It has no rows, or cannot be read.
    """
    read = _one(path, style)
    if len(read.frame) == 0:
        raise FedkinError(f"{path} has no rows")
    return read


def read_folder(folder: Path, style: Style) -> Read:
    """All tables of a folder, one below the other, with a column ``client``: the file's name
    without its ending.

    The files must have the same columns, in any order. Files without rows are no clients, which
    ``said`` tells.

    Args:
        folder: A table for each client.
        style: How their text is written.

    Returns:
        All rows, in the order of the files' names.

    Raises:
        FedkinError: No table has a row, columns, separators or encodings differ, two files have
            one name, or a name is no UTF-8 text.
    """
    files = tables_in(folder)
    check_named((path.stem for path in files), "table")
    reads = _each(folder, [path for path in files if path.stat().st_size], style)
    empty = [path for path in files if path not in reads or len(reads[path].frame) == 0]
    full = [path for path in reads if len(reads[path].frame)]
    if not full:
        raise FedkinError(f"{folder}: none of its {len(files)} tables has a row")
    sets = Counter(frozenset(map(str, reads[path].frame.columns)) for path in full)
    usual = sets.most_common(1)[0][0]
    first = next(path for path in full if usual == set(reads[path].frame.columns))
    names = list(reads[first].frame.columns)
    if CLIENT in names:
        raise FedkinError(
            f"{first} has a column {CLIENT!r}, but in a folder each file is a client: "
            "rename the column"
        )
    stems = [path.stem for path in files]
    twice = next((stem for stem, count in Counter(stems).items() if count > 1), None)
    if twice:
        raise FedkinError(
            f"{folder} has two tables called {twice!r}: each file is a client and needs its "
            "own name"
        )
    _together(
        [partial(_same, names, list(reads[path].frame.columns), first, path) for path in full]
    )
    frames = [
        frame.assign(**{CLIENT: path.stem})
        for path, frame in _alike({path: reads[path].frame[names] for path in full}, style).items()
    ]
    starts = np.cumsum([0, *(len(frame) for frame in frames)])

    def place(row: int) -> str:
        at = int(np.searchsorted(starts, row, side="right")) - 1
        return reads[full[at]].place(row - int(starts[at]))

    remarks = []
    if empty:
        bare = [
            path.name if path in reads else f"{path.name} (0 bytes: was it copied whole?)"
            for path in empty
        ]
        remarks.append(
            f"{len(empty)} of {len(files)} files have no rows, and so are no clients: {some(bare)}"
        )
    tables = {path.name for path in files}
    others = sorted(
        path.name
        for path in folder.iterdir()
        if path.name not in tables and not path.name.startswith(".")
    )
    if others:
        remarks.append(f"what is no table in {folder} is left out: {some(others)}")
    return Read(pd.concat(frames, ignore_index=True), place, tuple(remarks), (CLIENT,))


def tables_in(folder: Path) -> list[Path]:
    """The tables of a folder, in the order of their names.

    Args:
        folder: Of one's own.

    Returns:
        Paths of files; folders inside it are not looked into.
    """
    return sorted(
        path for path in folder.iterdir() if path.suffix.lower() in READERS and path.is_file()
    )


def places_in(path: Path, style: Style) -> Place:
    """Where the rows of one table stand.

    Args:
        path: The table's file.
        style: How its text is written.

    Returns:
        A row's number, from 0, → the file and the line where it begins, as an editor counts lines,
        of text; else the file and the row. The file is read for it once, when the first is asked.
    """
    if READERS[path.suffix.lower()] is not _csv:
        return lambda row: f"{path}, row {row}"
    broken = cache(partial(broken_rows, path, style.separator, style.encoding))
    return lambda row: f"{path}, line {row + 2 + int(np.searchsorted(broken(), row))}"


def _one(path: Path, style: Style) -> Read:
    if not path.is_file():
        raise FedkinError(f"{path} is no file: a table is read more than once")
    recipe = READERS[path.suffix.lower()]
    frame = recipe(path, style).reset_index(drop=True)
    check_columns(path, len(frame.columns))
    frame.columns = pd.Index([str(name) for name in frame.columns])
    twice = frame.columns[frame.columns.duplicated()]
    if len(twice):
        raise FedkinError(
            f"{path}: column {twice[0]!r} appears twice: give every column its own name"
        )
    return Read(frame, places_in(path, style))


def _each(folder: Path, files: Sequence[Path], style: Style) -> dict[Path, Read]:
    """The tables of a folder. No separator fits where one is written with another than the rest,
    and no encoding.
    """
    reads: dict[Path, Read] = {}
    separated: dict[str, list[Path]] = {}  # with another one than is asked
    refused: dict[str, Unreadable] = {}  # the first by its key of [data]

    def read(path: Path) -> None:
        try:
            reads[path] = _one(path, style)
        except Unreadable as error:
            fix = merged([problem.fix for problem in error.problems])
            key = next((one for one in ("data.separator", "data.encoding") if one in fix), None)
            if key is None:
                raise
            if key == "data.separator":
                separated.setdefault(fix[key], []).append(path)
            refused.setdefault(key, error)

    _together([partial(read, path) for path in files])
    texts = [path for path in files if READERS[path.suffix.lower()] is _csv]
    unsure = "data.encoding" in refused or (bool(texts) and mixes(style.encoding))
    if unsure and (differ := encodings_differ(folder, texts, style.encoding)) is not None:
        raise differ
    fitting = [  # of tables that have a separator at all
        path for path in texts if path in reads and len(reads[path].frame.columns) > 1
    ]
    marks = separated | ({style.separator: fitting} if fitting else {})
    if separated and len(marks) > 1:
        raise separators_differ(folder, marks)
    for error in refused.values():
        raise error
    return reads


def _together(steps: Sequence[Callable[[], object]]) -> None:
    """Does all steps, and says what is wrong in any; a fault with a fix is told at once."""
    faults: list[FedkinError] = []
    for step in steps:
        try:
            step()
        except Unreadable:
            raise
        except FedkinError as error:
            faults.append(error)
    if len(faults) > 1:
        more = some(map(str, faults[1:]), NAMED)
        raise FedkinError(f"{faults[0]}; and {many(len(faults) - 1, 'more file')}: {more}")
    for fault in faults:
        raise fault


def _alike(frames: dict[Path, pd.DataFrame], style: Style) -> dict[Path, pd.DataFrame]:
    """Tables of the same columns; one that is of different kinds in them is text in all of them."""
    mixed = [name for name in differing([*frames.values()]) if name not in style.as_text]
    return {path: _as_text(path, frame, mixed, style) for path, frame in frames.items()}


def _as_text(path: Path, frame: pd.DataFrame, columns: Sequence[str], style: Style) -> pd.DataFrame:
    """A table with some columns as they are written, or spelled out where a file holds no text."""
    if READERS[path.suffix.lower()] is not _csv:
        return with_text(frame, columns)
    with within_room(path):
        guessed = [name for name in columns if kind_of(frame[name]) != "text"]
        return written(path, frame, guessed, style.separator, style.decimal, style.encoding)


def _same(names: Sequence[str], others: Sequence[str], first: Path, path: Path) -> None:
    known, theirs = set(names), set(others)
    if known == theirs:
        return
    odd = next(name for name in [*names, *others] if (name in known) != (name in theirs))
    has, lacks = (first, path) if odd in known else (path, first)
    like = [name for name in theirs - known if folded(name) == folded(odd)] if odd in known else []
    hint = f", which has {like[0]!r}: write it alike" if like else ""
    raise FedkinError(
        f"{path}: its columns are not those of {first.name}: {has.name} has {odd!r} "
        f"and {lacks.name} does not{hint}"
    )


def _csv(path: Path, style: Style) -> pd.DataFrame:
    with within_room(path):
        return read_csv(path, style.as_text, style.separator, style.decimal, style.encoding)


def _parquet(path: Path, style: Style) -> pd.DataFrame:
    return read_parquet(path)


def _arrow(path: Path, style: Style) -> pd.DataFrame:
    return read_arrow(path)


READERS: dict[str, Any] = {".csv": _csv, ".parquet": _parquet, ".arrow": _arrow, ".feather": _arrow}
SUFFIXES = tuple(READERS)
