"""Cells of a label, a client or a group that hold nothing."""

from typing import Any

import numpy as np
import pandas as pd

from fedkin.core.errors import FedkinError
from fedkin.data.arrays import Array
from fedkin.data.formats.frames import Read
from fedkin.data.quality.problem import Problem, Unreadable
from fedkin.data.tables.columns import MISSING, Place
from fedkin.data.tables.kept_rows import only
from fedkin.data.tables.kinds import decided


def labeled(read: Read, label: str, unlabeled: str, words: bool) -> Read:
    """The rows with a label. Without being asked, none is left out.

    Args:
        read: The table.
        label: The name of the label's column.
        unlabeled: "refuse" or "drop".
        words: Whether labels stay as they are written, such as "01".

    Returns:
        The rows that stay, and how many went, in words.

    Raises:
        Unreadable: Rows have no label, and "refuse" stands; it carries the fix.
        FedkinError: No row has a label, or ``unlabeled`` is not known.
    """
    if unlabeled not in ("refuse", "drop"):
        raise FedkinError(f"data.unlabeled={unlabeled!r} is not known: use 'refuse' or 'drop'")
    gaps = gaps_of(read.frame[label])
    empty = np.flatnonzero(gaps)
    if not len(empty):
        return read
    if unlabeled == "refuse":
        sentence = gap_sentence(read.frame[label], empty, read.place)
        why = "fill it, or leave rows without a label out with --set data.unlabeled=drop"
        fix, share = {"data.unlabeled": "drop"}, len(empty) / len(read.frame)
        brief = "rows without a label are left out"
        raise Unreadable(
            [Problem("unlabeled", sentence, brief, fix, share, (label,))], f"{sentence}: {why}"
        )
    kept = np.flatnonzero(~gaps)
    if not len(kept):
        raise FedkinError(f"{read.place(0)}: column {label!r} is empty in all rows")
    remark = f"{len(empty):,} of {len(read.frame):,} rows have no label and are left out"
    read = only(read, kept, remark)
    if not words:  # it may be text because of a gap's mark alone
        read = read._replace(frame=read.frame.assign(**{label: decided(read.frame[label])}))
    return read


def filled(column: "pd.Series[Any]", place: Place, client: bool = False) -> None:
    """Refuses an empty cell.

    Args:
        column: Of labels, clients or groups.
        place: Row → where it stands, in words.
        client: Whether it names clients.

    Raises:
        FedkinError: Names the first empty cell.
    """
    empty = np.flatnonzero(_blank(column))  # "NA" may be a site's name
    if len(empty):
        how = (
            "name the client, or give all such rows one name ('unknown'), or delete them"
            if client
            else "fill it"
        )
        raise FedkinError(f"{gap_sentence(column, empty, place)}: {how}")


def gaps_of(column: "pd.Series[Any]") -> Array:
    """Which cells of a label's column hold nothing: empty ones, and what stands for that in columns
    of numbers.

    Args:
        column: As pandas read it.

    Returns:
        bool [n].
    """
    gaps: Array = _blank(column) | column.isin(sorted(MISSING)).to_numpy()
    return gaps


def _blank(column: "pd.Series[Any]") -> Array:
    """Cells with nothing in them, or with spaces only."""
    blank: Array = column.isna().to_numpy(copy=True)
    if pd.api.types.is_numeric_dtype(column) or pd.api.types.is_datetime64_any_dtype(column):
        return blank
    codes, distinct = pd.factorize(column)
    spaces = np.array(
        [*(isinstance(value, str) and not value.strip() for value in distinct), False]
    )
    blank |= spaces[codes]
    return blank


def gap_sentence(column: "pd.Series[Any]", empty: Array, place: Place) -> str:
    """What the first of the empty cells holds, and how many more there are.

    Args:
        column: As pandas read it.
        empty: Row numbers of its empty cells, at least one.
        place: Row → where it stands, in words.

    Returns:
        The beginning of a message.
    """
    first = int(empty[0])
    what = (
        "is empty"
        if pd.isna(column.iloc[first]) or not str(column.iloc[first]).strip()
        else f"holds {column.iloc[first]!r}, which stands for nothing"
    )
    more = f", as are {len(empty) - 1} more" if len(empty) > 1 else ""
    return f"{place(first)}: column {column.name!r} {what}{more}"
