"""A table whose rows come after training, read as the run's own table was: for predictions, and for
newcomers.
"""

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from fedkin.core.errors import FedkinError, some
from fedkin.data.arrays import Array
from fedkin.data.formats.frames import Read, Style, read_file
from fedkin.data.quality.problem import Unreadable
from fedkin.data.tables.clean import as_trained
from fedkin.data.tables.columns import Cells, cells_of, numbers_of
from fedkin.data.tables.encoding import Encoding, Feature, Number
from fedkin.data.tables.nested import nested_in
from fedkin.data.tables.unseen_values import unseen_remarks

WANTED = {"category": "category", "words": "text"}
SPELLED = ("separator", "decimal", "encoding")  # keys of [data] that say how a CSV file is written
SHOWN = 8  # names in a sentence


class LacksColumn(FedkinError):
    """A table has not every column that the run was trained with."""


def read_later(
    path: Path,
    encoding: Encoding,
    options: Mapping[str, Any],
    others: Sequence[str],
    copy: bool = False,
) -> Read:
    """A table with the columns of training, in any order, and perhaps others.

    ``options``: those of the run's [data], for how its files are written. ``others``: columns that
    are text as it is written, a label not among them.

    Args:
        path: A table.
        encoding: Of the run's training rows.
        options: The keys of the run's [data].
        others: Names of columns.
        copy: Whether the file is a copy that fedkin wrote of a DataFrame, not in the run's own way.

    Returns:
        Its rows.

    Raises:
        LacksColumn: It lacks one that the run was trained with.
        FedkinError: It cannot be read, or a column holds what none of training did.
    """
    apart = [feature.name for feature in encoding.features if feature.kind in WANTED]
    written = style({} if copy else options, (*apart, *others))
    try:
        read = read_file(path, written)
    except Unreadable as error:
        raise _unlike_the_runs(error, written) from None
    seen = [feature.name for feature in encoding.features]
    where = str(path)
    if copy:  # of which the caller has never heard
        where = "the DataFrame"
        read = read._replace(place=lambda row: f"row {row} of the DataFrame")
    for name in (one for one in seen if one in read.frame.columns):
        if what := nested_in(read.frame[name]):
            raise FedkinError(
                f"{read.place(0)}: column {name!r} holds {what}, and training had one value a cell"
            )
    read = as_trained(read, options, seen, (*apart, *others))
    names = [str(name) for name in read.frame.columns]
    lacking = [feature.name for feature in encoding.features if feature.name not in names]
    if lacking:
        which = some(map(repr, lacking), 1)
        raise LacksColumn(f"{where} lacks the column {which}, which the run was trained with")
    return read


def _unlike_the_runs(error: Unreadable, written: Style) -> FedkinError:
    """No key is left to give: the run's tables say how this one is written."""
    fault = error.problems[0]
    if fault.kind == "separator":
        mark = repr(written.separator)
        sentence = f"{fault.says}, for {fault.why}: save it with {mark}, as the run's tables are"
        return FedkinError(sentence)
    if fault.kind == "encoding":
        return FedkinError(f"{fault.says}: save it as {written.encoding}, as the run's tables are")
    return error


def encoded(
    read: Read, encoding: Encoding, others: Collection[str]
) -> tuple[Array, tuple[str, ...]]:
    """(float32 [rows, numbers] as the model takes them, what the model cannot see or never saw
    before).

    Args:
        read: The later table.
        encoding: Of the run's training rows.
        others: Names of columns that are there for something else.

    Returns:
        Numbers for the model, sentences for the reader.

    Raises:
        FedkinError: A column has words or an infinite cell where there were numbers, or dates where
            there were words.
    """
    each_feature = [_cells(feature, read) for feature in encoding.features]
    cells, columns = (
        np.stack([each.cells for each in each_feature], axis=1),
        [each.column for each in each_feature],
    )
    known = {*others, *(feature.name for feature in encoding.features)}
    left = [name for name in map(str, read.frame.columns) if name not in known]
    ignored = [f"columns that the model does not use: {some(left, SHOWN)}"] if left else []
    remarks = (*read.said, *ignored, *unseen_remarks(encoding.features, cells, columns, read.place))
    return encoding.encode(cells, columns), remarks


def style(options: Mapping[str, Any], as_text: tuple[str, ...] = ()) -> Style:
    """How the run's files are written.

    Args:
        options: The keys of the run's [data].
        as_text: Columns whose cells stay as they are written.

    Returns:
        Separator, decimal mark and encoding, where they are named.
    """
    return Style(as_text, **{key: str(options[key]) for key in SPELLED if key in options})


def _cells(feature: Feature, read: Read) -> Cells:
    column = read.frame[feature.name]
    try:
        if isinstance(feature, Number):
            return numbers_of(column, read.place, feature.of_truths)
        return cells_of(column, read.place, WANTED[feature.kind])
    except Unreadable as error:  # whose fix is one of training
        says, infinite = error.problems[0].says, error.problems[0].kind == "infinite"
        why = ": correct it" if infinite else ", but the model was trained with words there"
        raise FedkinError(f"{says}{why}") from None
