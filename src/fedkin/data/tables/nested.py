"""Columns whose cells are no single values, as a Parquet file or a DataFrame can have them."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from fedkin.core.errors import FedkinError
from fedkin.data.formats.frames import Read
from fedkin.data.quality.problem import Problem, Unreadable, typed_setting

NESTED = {np.ndarray: "lists", list: "lists", tuple: "lists", set: "sets", dict: "structs"}


def refuse_nested(read: Read, seen: Sequence[str], others: Sequence[str]) -> None:
    """Refuses columns of lists or structs.

    Args:
        read: The table.
        seen: Columns that models see, which may be left out.
        others: A label, a client, a group, which may not.

    Raises:
        Unreadable: Columns that models see; it carries the fix of each.
        FedkinError: One of the others.
    """
    for name in others:
        if what := nested_in(read.frame[name]):
            raise FedkinError(
                f"{read.place(0)}: column {name!r} holds {what}, and a label, a client or a group "
                "is one value: make a number or a word of it"
            )
    problems = []
    for name in seen:
        if what := nested_in(read.frame[name]):
            says = f"{read.place(0)}: column {name!r} holds {what}"
            why = "make a column of each of their values, or leave the column out"
            problems.append(Problem(what, says, why, {"data.drop": [name]}, None, (name,)))
    if problems:
        first = problems[0]
        setting = typed_setting("data.drop", first.fix["data.drop"])
        raise Unreadable(problems, f"{first.says}: {first.why}: {setting}")


def nested_in(column: "pd.Series[Any]") -> str:
    """What the cells of a column are where they are no single values.

    Args:
        column: As pandas read it.

    Returns:
        A word for them; empty where they are single values.
    """
    if not pd.api.types.is_object_dtype(column):
        return ""
    kinds = {type(cell) for cell in column}
    return next((word for kind, word in NESTED.items() if kind in kinds), "")
