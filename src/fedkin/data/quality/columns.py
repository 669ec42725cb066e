"""Columns that tell a model nothing, and values that are spellings of one thing."""

from collections.abc import Sequence

import numpy as np

from fedkin.data.quality.parsed_columns import ParsedColumn, too_long
from fedkin.data.quality.problem import Problem
from fedkin.data.source import Source
from fedkin.data.tables.similar_names import similar_names

SHOWN = 5  # groups of spellings, and spellings of a group, in a sentence


def column_problems(columns: Sequence[ParsedColumn]) -> list[Problem]:
    """Columns that are empty, or hold one value only.

    Args:
        columns: All that a model would see.

    Returns:
        At most one problem a column; its fix drops the column.
    """
    problems = []
    for column in columns:
        known = column.cells[~column.missing]
        drop = {"data.drop": [column.name]}
        if not len(known):
            says, why = f"column {column.name!r} is empty in all rows", "leave it out"
            problems.append(Problem("empty", says, why, drop, 1.0, (column.name,)))
        elif not column.missing.any() and np.ptp(known) == 0 and not too_long(column):
            says = f"column {column.name!r} holds one value only"
            problems.append(
                Problem(
                    "constant",
                    says,
                    "it tells a model nothing; leave it out",
                    drop,
                    1.0,
                    (column.name,),
                )
            )
    return problems


def spelling_problems(
    source: Source, clients: Sequence[str], label: str | None, client: str | None = None
) -> list[Problem]:
    """Spellings of one thing that the data take for several.

    Letters as classes (A and a) are no spellings.

    Args:
        source: The data as they were read.
        clients: Names.
        label: The name of the label's column, where there is one.
        client: The name of the clients' column, where there is one.

    Returns:
        One problem for the labels, one for the clients, one for each column.
    """
    columns = () if source.columns is None else source.columns.columns
    labels = (
        source.class_names if columns or any(len(name) > 1 for name in source.class_names) else ()
    )
    places = [
        ("labels", (label or "label") if columns else "", labels),  # only tables unify columns
        ("clients", (client or "") if columns else "", clients),
        *(
            (f"values of column {column.name!r}", column.name, column.values)
            for column in columns
            if not column.text
        ),
    ]
    return [
        _spellings(what, name, groups)
        for what, name, values in places
        if (groups := similar_names(values))
    ]


def _spellings(what: str, column: str, groups: Sequence[Sequence[str]]) -> Problem:
    more = f"; and {len(groups) - SHOWN:,} more such" if len(groups) > SHOWN else ""
    shown = "; ".join(" and ".join(map(repr, group[:SHOWN])) for group in groups[:SHOWN]) + more
    return Problem(
        "spelling",
        f"{what} that differ by little are taken for different ones: {shown}",
        "write them alike, or let them be one",
        {"data.unify": [column]} if column else {},
        None,
        (column,) if column else (),
    )
