"""Numbers that stand for nothing, −1 or 999, among the cells of a column."""

from collections.abc import Sequence

import numpy as np

from fedkin.core.errors import percent
from fedkin.data.arrays import Array
from fedkin.data.quality.parsed_columns import ParsedColumn
from fedkin.data.quality.problem import Problem

LIKELY = (-1, -9, -99, -999, -9999, -99999, 99, 999, 9999, 99999, 999999)
FEWEST, SHARE = 3, 0.002  # rows that must hold it
DIFFERENT = 8  # other values that a column must have: of few, −1 may be one like the rest
APART = 5.0  # times the widest gap among the other cells, that lies between them and a sentinel
BELOW = 2.0  # the same, of a number below 0 where no other is
TIMES = 5.0  # as often as its neighbours, a sentinel beside them


def sentinels(columns: Sequence[ParsedColumn]) -> list[Problem]:
    """Columns with such a number below or above all their other cells; each with its rows and the
    fix.

    Args:
        columns: All that a model would see.

    Returns:
        One problem a column; its fix takes the number for a missing cell.
    """
    return [problem for one in columns if one.number for problem in _of(one)]


def _of(column: ParsedColumn) -> list[Problem]:
    cells = column.cells[~column.missing]
    sentinels: list[int] = []
    for value in LIKELY:
        count = int((cells == value).sum())
        rest = cells[(cells != value) & ~np.isin(cells, sentinels)]
        if count >= max(FEWEST, SHARE * len(cells)) and _stands_out(value, count, rest):
            sentinels.append(value)
    if not sentinels:
        return []
    rows = int(np.isin(cells, sentinels).sum())
    share = rows / len(column.cells)
    shown = " and ".join(map(str, sentinels))
    return [
        Problem(
            "sentinel",
            f"column {column.name!r} holds {shown} in {rows:,} rows ({percent(share)}), away from "
            "all its other numbers",
            "it rather stands for a missing value than for an amount; take it as missing",
            {"data.missing": {column.name: sentinels}},
            share,
            (column.name,),
        )
    ]


def _stands_out(value: int, count: int, rest: Array) -> bool:
    """Whether a value lies beyond all the others, by far, or by little and much more often than
    they occur.
    """
    different, times = np.unique(rest, return_counts=True)
    if len(different) < DIFFERENT:
        return False
    low, high = float(different[0]), float(different[-1])
    if low <= value <= high:
        return False
    gap = low - value if value < low else value - high
    unexpected = value < 0 <= low  # −1 below ages, in a column that is never negative otherwise
    widest = float(np.diff(different).max())
    if gap > min((BELOW if unexpected else APART) * widest, high - low):
        return True
    # no wide gap: −1 below counts from 0 on
    beside = times[:3] if value < low else times[-3:]
    return unexpected and count >= TIMES * float(max(beside.mean(), np.median(times)))
