"""``fedkin deploy prepare``: a node's raw table as the file that it trains on."""

import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from fedkin.core.errors import FedkinError, many, reason, some
from fedkin.core.files import write_file
from fedkin.core.rng import Key
from fedkin.data.arrays import Array
from fedkin.data.formats.frames import Read, Style
from fedkin.data.holdout import holdout
from fedkin.data.population import SPLITS
from fedkin.data.tables.columns import cells_of, numbers_of
from fedkin.data.tables.gaps import gaps_of
from fedkin.data.tables.kinds import spelled
from fedkin.data.tables.table import groups_of
from fedkin.flower.config import NODE, NodeConfig, load, spec_of
from fedkin.flower.table.columns_file import SPLIT, ColumnsFile, read_columns
from fedkin.flower.table.inputs import inputs_of, read_wanted
from fedkin.flower.table.named import name_data
from fedkin.flower.table.raw_table import errors_advised
from fedkin.flower.table.words import NAMED

CSV, OTHERWISE = ".csv", "data.csv"
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
    read = read_wanted(table, wanted, style or Style(), wanted.roles)
    encoding = wanted.encoding
    if label in encoding.outputs:
        raise FedkinError(
            f"{columns}: column {label!r} has the name of the experiment's label: rename it"
        )
    with errors_advised():
        y = _labels(read, wanted, columns)
    inputs = inputs_of(read, encoding, times or {}, columns)
    parts = _parts(read, wanted, table)
    file = inputs.frame.assign(**{label: y, SPLIT: parts})
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
        "unknown": inputs.unknown,
        "filled": inputs.filled,
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
