"""``fedkin deploy prepare``: a node's raw table as the file that it trains on."""

import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from fedkin.core.errors import FedkinError, many, reason, some
from fedkin.core.files import write_file
from fedkin.core.rng import Key
from fedkin.data.arrays import Array
from fedkin.data.formats.frames import Read, Style
from fedkin.data.formats.memory import room
from fedkin.data.holdout import holdout
from fedkin.data.population import SPLITS
from fedkin.data.tables.clean import as_trained
from fedkin.data.tables.columns import LARGEST, Cells, cells_of, numbers_of
from fedkin.data.tables.encoding import Category, Encoding, Number
from fedkin.data.tables.gaps import gaps_of
from fedkin.data.tables.kinds import spelled
from fedkin.data.tables.table import groups_of
from fedkin.flower.config import NODE, NodeConfig, load, spec_of
from fedkin.flower.table.columns_file import SPLIT, ColumnsFile, read_columns
from fedkin.flower.table.named import name_data
from fedkin.flower.table.raw import read_raw

CSV, OTHERWISE = ".csv", "data.csv"
CELL = 40  # bytes of a cell of the new file in memory, as a number and as text
NAMED = 5  # words in a sentence
WORDS = 20  # unknown words of a column that are told
SEED = 63  # bits of what the parts are drawn from


def prepare(
    folder: Path,
    table: Path,
    columns: Path,
    style: Style | None = None,
    times: Mapping[str, float] | None = None,
    replace: bool = False,
) -> dict[str, Any]:
    """Write a node's file of a raw table: columns, words, gaps and labels as the file of columns
    has them, and every row in a part that is drawn from the system's randomness.

    Args:
        folder: Of the node.
        table: Raw: .csv, .parquet or .arrow, with a row a sample.
        columns: The file of columns, the same on all nodes.
        style: How the raw table's text is written; None: UTF-8 with commas and decimal points.
        times: What the numbers of a raw column are multiplied with: it has another unit here.
        replace: Whether a file that is there gives way.

    Returns:
        {"file", "rows", "samples": {split: n}, "columns": n, "unknown": [{"column", "rows",
        "words"}], "filled": [{"column", "rows"}], "dropped": [column], "notes": [sentence]}.

    Raises:
        FedkinError: A file is missing or damaged, or there is one already; or a cell or a label is
            none that the file of columns has.
    """
    node, label = load(NodeConfig, folder, NODE), spec_of(folder).data.label or "label"
    wanted = read_columns(columns)
    target = _target(folder, node, table, replace)
    read = _read(table, wanted, style or Style())
    encoding = wanted.encoding
    if label in encoding.outputs:
        raise FedkinError(
            f"{columns}: column {label!r} has the name of the experiment's label: rename it"
        )
    _check_room(table, len(read.frame), len(encoding.outputs))
    y = _labels(read, wanted, columns)
    cells = _cells(read, encoding, dict(times or {}), columns)
    x = encoding.encode(
        np.stack([one.cells for one in cells], axis=1), [one.column for one in cells]
    )
    parts = _parts(read, wanted, table)
    file = pd.DataFrame({name: _plain(x[:, k]) for k, name in enumerate(encoding.outputs)})
    file = file.assign(**{label: y, SPLIT: parts})
    try:
        write_file(target, file.to_csv(index=False).encode(), private=True)
    except OSError as error:
        raise FedkinError(f"{target} cannot be written: {reason(error)}") from None
    notes = [*read.said, *name_data(folder, node, target)]
    if replace:
        notes.append("the parts were drawn anew: scores of earlier runs are of other test samples")
    used = {*wanted.columns, wanted.label, wanted.group}
    return {
        "file": str(target),
        "rows": len(file),
        "samples": {split: int((parts == split).sum()) for split in SPLITS},
        "columns": len(encoding.outputs),
        **_found(encoding, cells),
        "dropped": [name for name in map(str, read.frame.columns) if name not in used],
        "notes": notes,
    }


def _target(folder: Path, node: NodeConfig, table: Path, replace: bool) -> Path:
    named = node.data or ""
    path = folder / (named if Path(named).suffix.lower() == CSV else OTHERWISE)
    if path.exists() and table.exists() and path.samefile(table):
        raise FedkinError(f"{path} is the raw table itself: move it elsewhere")
    if path.exists() and not replace:
        raise FedkinError(
            f"{path} is there already, and a second draw of the parts would train on what was a "
            "test before: keep it, or write it anew with --replace"
        )
    return path


def _read(table: Path, wanted: ColumnsFile, style: Style) -> Read:
    """The raw table, with all columns that are wanted."""
    words = [name for name, one in wanted.columns.items() if one.values]
    words += [wanted.label] if wanted.classes else []
    words += [] if wanted.group is None else [wanted.group]
    read = read_raw(table, style._replace(as_text=tuple(words)))
    there = [str(name) for name in read.frame.columns]
    roles = [wanted.label, *([] if wanted.group is None else [wanted.group])]
    lacking = [name for name in (*wanted.columns, *roles) if name not in there]
    if lacking:
        raise FedkinError(
            f"{table} lacks {many(len(lacking), 'column')} that all nodes have: "
            f"{some(map(repr, lacking), NAMED)} (columns: {some(there, 12)})"
        )
    options = {"missing": dict.fromkeys([*wanted.columns, *roles], wanted.missing)}
    return as_trained(read, options, list(wanted.columns), words)


def _check_room(table: Path, rows: int, columns: int) -> None:
    left = room()
    if rows * columns * CELL > left:
        raise FedkinError(
            f"{table} has {rows:,} rows, of {many(columns, 'input')} each: more than the "
            f"{left:,} bytes hold that one file may take on this machine now"
        )


def _labels(read: Read, wanted: ColumnsFile, columns: Path) -> Array:
    """Numbers of classes, or the label's own numbers."""
    column = read.frame[wanted.label]
    empty = np.flatnonzero(gaps_of(column))
    if len(empty):
        raise FedkinError(
            f"{read.place(int(empty[0]))}: column {wanted.label!r} is empty, as in "
            f"{many(len(empty), 'row')} in all: fill it, or leave such rows out"
        )
    if not wanted.classes:
        return numbers_of(column, read.place, because=f"{columns} names no classes").cells
    cells = cells_of(column, read.place, "category")
    place = {spelled(name): number for number, name in enumerate(wanted.classes)}
    known = np.array([place.get(value, -1) for value in cells.column.values])
    y: Array = known[cells.cells.astype(np.int64)]
    odd = np.flatnonzero(y < 0)
    if len(odd):
        words = [value for value, number in zip(cells.column.values, known) if number < 0]
        raise FedkinError(
            f"{read.place(int(odd[0]))}: column {wanted.label!r} holds none of the classes of "
            f"{columns}, as in {many(len(odd), 'row')} in all: "
            f"{some((repr(word[:40]) for word in words), NAMED)}"
        )
    return y


def _cells(read: Read, encoding: Encoding, times: dict[str, float], columns: Path) -> list[Cells]:
    numbers = [one.name for one in encoding.features if isinstance(one, Number)]
    unexpected = [name for name in times if name not in numbers]
    if unexpected:
        raise FedkinError(
            f"--times {unexpected[0]!r} is no column of numbers in {columns}: "
            f"{some(numbers, NAMED) or 'it has none'}"
        )
    found = []
    for feature in encoding.features:
        column = read.frame[feature.name]
        if isinstance(feature, Number):
            one = numbers_of(column, read.place, because=f"{columns} says how its gaps are filled")
            found.append(one._replace(cells=one.cells * times.get(feature.name, 1.0)))
            if (np.abs(found[-1].cells) > LARGEST).any():
                raise FedkinError(
                    f"--times {feature.name!r} makes numbers that are too large for float32"
                )
        else:
            found.append(cells_of(column, read.place, "category"))
    return found


def _parts(read: Read, wanted: ColumnsFile, table: Path) -> Array:
    """train, val or test for each row, drawn from the system's randomness: nobody can guess it."""
    group, rows = None, len(read.frame)
    if wanted.group is not None:
        empty = np.flatnonzero(gaps_of(read.frame[wanted.group]))
        if len(empty):
            raise FedkinError(
                f"{read.place(int(empty[0]))}: column {wanted.group!r} is empty, and says which "
                "rows stay together: fill it"
            )
        group = groups_of(read.frame[wanted.group])
    units = rows if group is None else int(group.max()) + 1
    filled = sum(part > 0 for part in wanted.parts)
    if units < filled:
        name = wanted.group
        what = (
            many(units, "row")
            if name is None
            else many(units, f"value of {name!r}", f"values of {name!r}")
        )
        raise FedkinError(f"{table} has {what} for {filled} parts: bring more, or set a part to 0")
    key = Key(secrets.randbits(SEED))
    drawn = holdout([np.arange(rows, dtype=np.int64)], key, wanted.parts, group=group)
    parts = np.empty(rows, dtype=object)
    for split, (own,) in zip(SPLITS, (drawn.train, drawn.val, drawn.test), strict=True):
        parts[own] = split
    return parts


def _plain(column: Array) -> Array:
    """Whole numbers without a fraction of 0: they are read by people, too."""
    whole = bool((column == np.round(column)).all()) and bool((np.abs(column) < 2**24).all())
    return column.astype(np.int64) if whole else column


def _found(encoding: Encoding, cells: list[Cells]) -> dict[str, Any]:
    """What of the raw table the columns do not say as it was."""
    unknown, filled = [], []
    for feature, one in zip(encoding.features, cells, strict=True):
        gaps = int(np.isnan(one.cells).sum())
        if gaps:
            filled.append({"column": feature.name, "rows": gaps})
        if isinstance(feature, Category):
            known = set(feature.values)
            new = [k for k, value in enumerate(one.column.values) if value not in known]
            rows = int(np.isin(one.cells, new).sum())
            if rows:
                words = [one.column.values[k][:CELL] for k in new[:WORDS]]
                unknown.append({"column": feature.name, "rows": rows, "words": words})
    return {"unknown": unknown, "filled": filled}
