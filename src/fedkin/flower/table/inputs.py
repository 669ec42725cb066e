"""The inputs of a raw table, by the file of columns that all nodes have."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from fedkin.core.errors import FedkinError, many, some
from fedkin.data.arrays import Array
from fedkin.data.formats.frames import Read, Style
from fedkin.data.formats.memory import room
from fedkin.data.tables.clean import as_trained
from fedkin.data.tables.columns import LARGEST, Cells, cells_of, numbers_of
from fedkin.data.tables.encoding import Category, Encoding, Number
from fedkin.data.tables.nested import refuse_nested
from fedkin.flower.table.columns_file import ColumnsFile
from fedkin.flower.table.raw_table import errors_advised, read_raw
from fedkin.flower.table.words import NAMED

CELL = 40  # bytes of a cell of the new file in memory, as a number and as text
WORDS = 20  # unknown words of a column that are told


class Inputs(NamedTuple):
    """frame: a column an input, a row a sample. unknown: words that the file of columns does not
    have. filled: gaps by column.
    """

    frame: pd.DataFrame
    unknown: list[dict[str, Any]]
    filled: list[dict[str, Any]]


def read_wanted(table: Path, wanted: ColumnsFile, style: Style, needed: Sequence[str]) -> Read:
    """The raw table, with all columns that are wanted.

    Args:
        table: .csv, .parquet or .arrow.
        wanted: What the file of columns says.
        style: How its text is written.
        needed: More columns that it must have: of the label, say.

    Returns:
        Its rows; cells that stand for nothing are gaps.

    Raises:
        FedkinError: It cannot be read, lacks a column or has one of lists, or would take more than
            the memory.
    """
    words = [name for name, one in wanted.columns.items() if one.values]
    words += [wanted.label] if wanted.classes else []
    words += [] if wanted.group is None else [wanted.group]
    read = read_raw(table, style._replace(as_text=tuple(words)))
    there = [str(name) for name in read.frame.columns]
    lacking = [name for name in (*wanted.columns, *needed) if name not in there]
    if lacking:
        raise FedkinError(
            f"{table} lacks {many(len(lacking), 'column')} that all nodes have: "
            f"{some(map(repr, lacking), NAMED)} (columns: {some(there, 12)})"
        )
    rows, outputs = len(read.frame), len(wanted.encoding.outputs)
    left = room()
    if rows * outputs * CELL > left:
        raise FedkinError(
            f"{table} has {rows:,} rows, of {many(outputs, 'input')} each: more than the "
            f"{left:,} bytes hold that one file may take on this machine now"
        )
    roles = [role for role in wanted.roles if role in there]
    with errors_advised():
        refuse_nested(read, list(wanted.columns), roles)
    both = [*wanted.columns, *roles]
    options = {"missing": dict.fromkeys(both, wanted.missing)}
    return as_trained(read, options, list(wanted.columns), [one for one in words if one in there])


def inputs_of(read: Read, encoding: Encoding, times: Mapping[str, float], columns: Path) -> Inputs:
    """What a model takes of a raw table.

    Args:
        read: Of ``read_wanted``.
        encoding: Of the file of columns.
        times: What the numbers of a raw column are multiplied with: it has another unit here.
        columns: The file of columns, for messages.

    Returns:
        The inputs, and what the raw table had that they do not say as it was.

    Raises:
        FedkinError: A cell is none that its column can have, or a factor does not fit.
    """
    with errors_advised():
        cells = _cells(read, encoding, times, columns)
    x = encoding.encode(
        np.stack([one.cells for one in cells], axis=1), [one.column for one in cells]
    )
    frame = pd.DataFrame({name: _plain(x[:, k]) for k, name in enumerate(encoding.outputs)})
    return Inputs(frame, *_found(encoding, cells))


def _cells(
    read: Read, encoding: Encoding, times: Mapping[str, float], columns: Path
) -> list[Cells]:
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
            one = numbers_of(column, read.place, because=f"{columns} says that it holds numbers")
            found.append(one._replace(cells=one.cells * times.get(feature.name, 1.0)))
            if (np.abs(found[-1].cells) > LARGEST).any():
                raise FedkinError(
                    f"--times {feature.name!r} makes numbers that are too large for float32"
                )
        else:
            found.append(cells_of(column, read.place, "category"))
    return found


def _plain(column: Array) -> Array:
    """Whole numbers without a fraction of 0: they are read by people, too."""
    whole = bool((column == np.round(column)).all()) and bool((np.abs(column) < 2**24).all())
    return column.astype(np.int64) if whole else column


def _found(
    encoding: Encoding, cells: list[Cells]
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """(unknown words, gaps): what of the raw table the columns do not say as it was."""
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
    return unknown, filled
