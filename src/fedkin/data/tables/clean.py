"""A table's cells as [data] says they are meant: marks for nothing, spellings of one thing,
repeated rows.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from fedkin.core.errors import FedkinError, many, unknown
from fedkin.data.formats.frames import Read
from fedkin.data.tables.kept_rows import only
from fedkin.data.tables.kinds import decided, spelled
from fedkin.data.tables.schema import Missing, Roles, listed
from fedkin.data.tables.similar_names import folded


def with_gaps(read: Read, where: str, roles: Roles) -> Read:
    """Cells that stand for nothing are empty ones: data.missing = ["<5"], or {age = [-1], "lab
    value" = ["<5"]}.

    A list is for all columns that models see; a table names columns, the label's among them if need
    be.

    Args:
        read: The table as it was read.
        where: The file, for messages.
        roles: The keys of [data].

    Returns:
        The same rows.

    Raises:
        FedkinError: A column that is not there.
    """
    names = [str(name) for name in read.frame.columns]
    unseen = (*listed("drop", roles.drop), *listed("about", roles.about))
    apart = {roles.label, roles.client, roles.group, *unseen}
    marks = marks_of(roles.missing, [name for name in names if name not in apart])
    there = set(names)
    unexpected = next((name for name in marks if name not in there), None)
    if unexpected is not None:
        raise unknown(f"column of data.missing in {where}", unexpected, names)
    words = (*listed("categorical", roles.categorical), *listed("text", roles.text))
    return _emptied(read, marks, words)


def as_trained(
    read: Read,
    options: Mapping[str, Any],
    seen: Sequence[str],
    words: Sequence[str] = (),
) -> Read:
    """Rows that come later, with what the run's [data] says of cells; columns that are not there
    are not missed.

    Args:
        read: The later table.
        options: The keys of the run's [data].
        seen: The columns that the model sees: a list of data.missing is for those alone.
        words: Columns of text, whose cells stay as they are written.

    Returns:
        The same rows, with gaps and spellings as in training.
    """
    names = {str(name) for name in read.frame.columns}
    marks = marks_of(options.get("missing", ()), seen)
    marks = {name: cells for name, cells in marks.items() if name in names}
    read = _emptied(read, marks, words)
    return unified(
        read, [name for name in listed("unify", options.get("unify", ())) if name in names]
    )


def marks_of(missing: Missing, columns: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Column → the cells of it that stand for nothing, as they are spelled.

    Args:
        missing: data.missing, a list or a table.
        columns: The columns that a list is for.

    Returns:
        Only columns with at least one mark.

    Raises:
        FedkinError: A column's marks are no list.
    """
    by_column = missing if isinstance(missing, Mapping) else dict.fromkeys(columns, missing)
    marks = {}
    for name, cells in by_column.items():
        if isinstance(cells, str) or not isinstance(cells, Sequence):
            raise FedkinError(
                f'data.missing of column {name!r} is {cells!r}: write a list, such as ["<5", -1]'
            )
        marks[str(name)] = tuple(spelled(cell).strip() for cell in cells)
    return {name: cells for name, cells in marks.items() if cells}


def _emptied(read: Read, marks: Mapping[str, Sequence[str]], words: Sequence[str]) -> Read:
    """Cells without marks. A column that is text because of its marks alone is so no more, unless
    it is one of ``words``.
    """
    if not marks:
        return read
    frame = read.frame.copy(deep=False)
    stay = set(words)
    for name, cells in marks.items():
        codes, distinct = pd.factorize(frame[name])
        empty = np.array([*(spelled(value).strip() in cells for value in distinct), False])[codes]
        if empty.any():
            rest = frame[name].mask(empty)
            frame[name] = rest if name in stay else decided(rest)
    return read._replace(frame=frame)


def unified(read: Read, columns: Sequence[str]) -> Read:
    """Spellings that differ by case, spaces, hyphens or leading zeros become one, in lower case
    (``folded``).

    Args:
        read: The table.
        columns: Names of columns of words.

    Returns:
        The same rows.
    """
    if not columns:
        return read
    frame = read.frame.copy(deep=False)
    for name in columns:
        codes, distinct = pd.factorize(frame[name])
        words = np.array([*(folded(spelled(value)) for value in distinct), None], dtype=object)
        frame[name] = pd.Series(words[codes], index=frame.index, dtype=object)
    return read._replace(frame=frame)


def without_repeats(read: Read, columns: Sequence[str], duplicates: str) -> Read:
    """With "drop", the first of rows that are equal in these columns, whichever clients
    hold them.

    Args:
        read: The table.
        columns: What must be equal.
        duplicates: "keep" or "drop".

    Returns:
        The rows that stay, and how many went, in words.

    Raises:
        FedkinError: ``duplicates`` is neither.
    """
    if duplicates not in ("keep", "drop"):
        raise unknown("value of data.duplicates", str(duplicates), ("keep", "drop"))
    if duplicates == "keep":
        return read
    kept = np.flatnonzero(~read.frame.duplicated(subset=list(columns)).to_numpy())
    gone = len(read.frame) - len(kept)
    if not gone:
        return read
    remark = (
        f"{many(gone, 'row repeats', 'rows repeat')} an earlier one and "
        f"{'is' if gone == 1 else 'are'} left out"
    )
    return only(read, kept, remark)
