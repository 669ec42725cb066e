"""Means over seeds, and which seeds they are of."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from fedkin.core.errors import some
from fedkin.report.comparison.labels import labels
from fedkin.report.comparison.run_row import NUMBERS, ComparedRun, by_experiment

AGAINST = ["helped", "hurt"]
SHOWN = 5  # seeds that are named one by one
Row = dict[str, Any]


def over_seeds(seen: Sequence[ComparedRun], least: int = 2) -> list[Row]:
    """A row for finished runs that differ in nothing but the seed.

    Args:
        seen: The runs.
        least: Of how many seeds.

    Returns:
        The means, and the sample standard deviations (n − 1) under "… sd"; nan where there is no
        number, as of one seed.
    """
    groups = by_experiment(seen)
    rows = []
    for group, label in zip(groups, labels(groups), strict=True):
        if len(group) < least:
            continue
        first = group[0]
        row: Row = {
            "method": first.row["method"],
            "setting": label,
            "hyper": first.hyper,
            "rounds": first.row["rounds"],
        }
        row["seeds"] = sorted((one.row["seed"] for one in group), key=str)
        for column in (*NUMBERS, *AGAINST):
            each = np.array([number(one.row.get(column)) for one in group])
            row[column] = float(each.mean())
            row[f"{column} sd"] = float(each.std(ddof=1)) if len(each) > 1 else math.nan
        rows.append(row)
    return rows


def number(value: Any) -> float:
    """A number of a row.

    Args:
        value: The number, or None.

    Returns:
        nan for None.
    """
    return math.nan if value is None else float(value)


def counted(seeds: Sequence[Any]) -> str:
    """How many seeds, and which: "0" alone would be read as none.

    >>> counted([0]), counted([0, 1, 2]), counted([7, 1])
    ('1 (0)', '3 (0–2)', '2 (1, 7)')

    Args:
        seeds: In any order.

    Returns:
        A number, and the seeds in brackets.
    """
    whole = all(isinstance(seed, int) for seed in seeds)
    each = sorted(seeds) if whole else sorted(seeds, key=str)
    row = whole and len(each) > 2 and each[-1] - each[0] == len(each) - 1
    named = f"{each[0]}–{each[-1]}" if row else some(map(str, each), SHOWN)
    return f"{len(each)} ({named})"
