"""``fedkin deploy columns``: a first file of columns, of a table that its author may look at."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from fedkin.core.errors import FedkinError, unknown
from fedkin.data.formats.frames import Read, Style
from fedkin.data.quality.dates import are_dates
from fedkin.data.quality.identifiers import identifiers
from fedkin.data.quality.parsed_columns import ParsedColumn
from fedkin.data.quality.problem import Unreadable, toml_key, toml_literal
from fedkin.data.quality.written_numbers import COMMAS, way_of
from fedkin.data.tables.clean import as_trained
from fedkin.data.tables.columns import Cells, cells_of
from fedkin.data.tables.gaps import gaps_of
from fedkin.data.tables.nested import nested_in, refuse_nested
from fedkin.data.tables.table import labels_of
from fedkin.flower.table.raw_table import read_raw

LEAST = 5  # rows that hold a word, from which on it is named: fewer may be one person
MOST = 50  # words of a column
MARKS = ("NA", "N/A", "?")  # cells that stand for nothing
CLASSES = 100  # values of a label, up to which whole numbers are classes
REVEALS = """\
# The columns of every node's file, in this order: carry it to all nodes, then
# fedkin deploy prepare NODE --table RAW --columns {name}
# It was drafted from {table}: it tells everybody who has it the words that {least} rows or more
# of it hold, all its classes, and the medians of its numbers. Look through it first.
"""


class Draft(NamedTuple):
    """The text of a file of columns, and the raw columns that it leaves out: name → why."""

    text: str
    left_out: dict[str, str]


def draft(table: Path, label: str, group: str | None, style: Style, name: str) -> Draft:
    """A file of columns that fits one table.

    Args:
        table: .csv, .parquet or .arrow, of rows such as the nodes have.
        label: Its column to predict.
        group: A column of which rows of one value stay together; None: none does.
        style: How its text is written.
        name: What the file will be called.

    Returns:
        TOML with a comment that says what it reveals, and what it leaves out.

    Raises:
        FedkinError: The table cannot be read, lacks a column, has none that can be an input, or its
            label holds lists.
    """
    read = read_raw(table, style)
    there = [str(one) for one in read.frame.columns]
    roles = [label, *([] if group is None else [group])]
    for role in roles:
        if role not in there:
            raise unknown(f"column of {table}", role, there)
    refuse_nested(read, [], roles)
    flat = [column for column in there if not nested_in(read.frame[column])]
    read = as_trained(read, {"missing": dict.fromkeys(flat, MARKS)}, flat)
    given = [column for column in there if column not in roles]
    usable: dict[str, Cells] = {}
    drafted: dict[str, str] = {}
    reasons: dict[str, str] = {}
    for column in given:
        cells = _cells(read, column)
        if isinstance(cells, str):
            reasons[column] = cells
            continue
        line, why = _line(column, cells)
        if why is None:
            usable[column], drafted[column] = cells, line
        else:
            reasons[column] = why
    reasons |= _identifiers(usable)
    lines = [line for column, line in drafted.items() if column not in reasons]
    left_out = {column: reasons[column] for column in given if column in reasons}
    if not lines:
        raise FedkinError(f"{table} has no column of numbers or words besides {label!r}: add some")
    head = REVEALS.format(name=name, table=table.name, least=LEAST)
    return Draft("\n".join([head, *_roles(read, label, group), *lines, ""]), left_out)


def _roles(read: Read, label: str, group: str | None) -> Iterator[str]:
    yield f"label = {toml_literal(label)}"
    column = read.frame[label]
    names = labels_of(column[~gaps_of(column)].infer_objects(), "auto", read.place)[1]
    if names and not (len(names) > CLASSES and all(one.lstrip("-").isdecimal() for one in names)):
        yield f"classes = {toml_literal(list(names))}  # the k-th is class k"
    else:
        yield "# no classes: it holds numbers"
    if group is not None:
        yield f"group = {toml_literal(group)}  # all rows of one value go into one part"
    yield "parts = [0.6, 0.2, 0.2]  # of train, val and test"
    yield f"missing = {toml_literal(list(MARKS))}  # cells that stand for nothing"
    yield ""
    yield "[columns]  # fill: what stands for a gap; flag: an input that says so; rest: other words"


def _cells(read: Read, name: str) -> Cells | str:
    """A column's cells, or why it has none."""
    column = read.frame[name]
    if what := nested_in(column):
        return f"it holds {what}"
    try:
        return cells_of(column, read.place)
    except Unreadable as error:
        return error.problems[0].kind


def _line(name: str, cells: Cells) -> tuple[str, str | None]:
    """(a column's line, why there is none)."""
    gaps = np.isnan(cells.cells)
    if (~gaps).sum() < LEAST:
        return "", f"fewer than {LEAST} rows have a value"
    flag = ", flag = true" if gaps.any() else ""
    if not cells.column.values:
        middle = float(f"{np.median(cells.cells[~gaps]):.6g}")
        return f"{toml_key(name)} = {{ fill = {middle}{flag} }}", None
    if are_dates(cells.column.values):
        return "", "date"
    if (way := way_of(cells.column.values)) is not None:
        advice = "--decimal , reads them" if way is COMMAS else way.advice
        return "", f"it holds numbers with {way.written}: {advice}"
    words = _words(cells)
    if not words:
        return "", f"none of its words is in {LEAST} rows"
    rest = ", rest = true" if len(words) < len(cells.column.values) else ""
    return f"{toml_key(name)} = {{ values = {toml_literal(words)}{rest}{flag} }}", None


def _identifiers(columns: dict[str, Cells]) -> dict[str, str]:
    """Columns that number or name the rows: name → what they are. A column with one value only
    stays, as it may have others on a node.
    """
    seen = [ParsedColumn(name, one.cells, one.column.values) for name, one in columns.items()]
    return {problem.columns[0]: problem.kind for problem in identifiers(seen)}


def _words(cells: Cells) -> list[str]:
    """The most frequent words of a column, in alphabetical order."""
    values = cells.column.values
    known = cells.cells[~np.isnan(cells.cells)].astype(np.int64)
    counts = np.bincount(known, minlength=len(values))
    often = [k for k in np.argsort(-counts, kind="stable")[:MOST] if counts[k] >= LEAST]
    return sorted(values[k] for k in often)
