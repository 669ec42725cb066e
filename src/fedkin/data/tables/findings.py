"""What a data set is made of and what is wrong with it, as plain values: what ``fedkin data check``
tells.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from fedkin.data.arrays import Ints
from fedkin.data.quality.clients import client_problems
from fedkin.data.quality.columns import column_problems, spelling_problems
from fedkin.data.quality.dates import dates, is_dates
from fedkin.data.quality.drift import drifting
from fedkin.data.quality.identifiers import identifiers
from fedkin.data.quality.label_codes import disjoint_label_codes
from fedkin.data.quality.labels import label_problems
from fedkin.data.quality.leaks import leaks
from fedkin.data.quality.parsed_columns import ParsedColumn, parsed_columns
from fedkin.data.quality.predictive import Label
from fedkin.data.quality.problem import Problem
from fedkin.data.quality.repeats import by_chance, repeated, repeats
from fedkin.data.quality.sentinels import sentinels
from fedkin.data.quality.written_numbers import written_numbers
from fedkin.data.source import Source
from fedkin.data.tables.client_column import likely_clients
from fedkin.data.tables.similar_names import folded
from fedkin.runtime.progress import tracked

SHOWN = 5  # names of clients


def findings(source: Source, label: str | None = None, client: str | None = None) -> dict[str, Any]:
    """name, task, samples, shape, columns, classes, clients, likely_clients, duplicates, said and
    problems of a Source.

    Counts are of samples. ``said``: what was left out. ``problems``: ``Problem.plain`` of each,
    those of a column once; none of them keeps the data from being read. ``clients`` and what is
    counted by client is None where the data name no clients.

    Args:
        source: The data as they were read.
        label: The name of the label's column, of a table.
        client: The name of the clients' column, of a table that has one.

    Returns:
        JSON's values, as ``fedkin data check --json`` prints them.
    """
    names, owner = _clients(source)
    sizes = None if owner is None else np.bincount(owner, minlength=len(names))
    table = None if owner is None or not source.classes else _by_class(source, owner, len(names))
    columns = [] if source.columns is None else parsed_columns(source.columns.columns, source.x)
    written, others = numbers_as_words(source, columns, label)
    numbering = identifiers([one for one in others if not is_dates(one)])
    twice, problems_of_repeats = _repeats(
        source, owner, {name for one in numbering for name in one.columns}
    )
    steps: list[Callable[[], Sequence[Problem]]] = [
        lambda: column_problems(columns),
        lambda: dates(columns, label),
        lambda: written,
        lambda: _unlike(columns, numbering, source),
        lambda: sentinels(columns),
        lambda: [] if owner is None else drifting(columns, owner, names),
        lambda: spelling_problems(source, names, label, client),
        lambda: label_problems(source),
        lambda: disjoint_label_codes(source),
        lambda: client_problems(source, names, sizes, table),
        lambda: problems_of_repeats,
    ]
    problems = [one for step in tracked("looking for faults", steps) for one in step()]
    return {
        "name": source.name,
        "task": source.task,
        "samples": len(source.x),
        "official_test": None if source.official_test is None else int(source.official_test.sum()),
        "shape": list(source.x.shape[1:]),
        "columns": _columns(source, columns),
        "classes": _classes(source),
        "clients": None if sizes is None else _sizes(names, sizes, table),
        "likely_clients": likely_clients(source),
        "duplicates": twice,
        "said": list(source.said),
        "problems": [problem.plain() for problem in problems],
    }


def _unlike(columns: list[ParsedColumn], numbering: list[Problem], source: Source) -> list[Problem]:
    """Identifiers, and leaks among the other columns: what is left out already is reported once."""
    gone = {name for one in numbering for name in one.columns}
    rest = [one for one in columns if one.name not in gone and not is_dates(one)]
    return [*numbering, *leaks(rest, label_of(source))]


def numbers_as_words(
    source: Source, columns: Sequence[ParsedColumn], label: str | None
) -> tuple[list[Problem], list[ParsedColumn]]:
    """Columns of numbers that are read as words, and the columns that are none: no identifier is
    looked for among the former.

    Args:
        source: The data as they were read.
        columns: All of it that a model would see.
        label: The name of the label's column.

    Returns:
        (One problem for each way of writing, the other columns).
    """
    written = written_numbers(columns, _classes_as_words(source, label))
    named = {name for one in written for name in one.columns}
    return written, [one for one in columns if one.name not in named]


def _classes_as_words(source: Source, label: str | None) -> ParsedColumn | None:
    """The classes of a table as a column's values, without cells; None where there are no names of
    classes, or no table.
    """
    if source.columns is None or not source.class_names:
        return None
    return ParsedColumn(label or "label", np.empty(0), tuple(source.class_names))


def label_of(source: Source) -> Label:
    """The label, of which spellings of one class are one: what tells "yes" need not tell " Yes".

    Args:
        source: The data as they were read.

    Returns:
        Numbers of folded classes, or targets.
    """
    if not source.classes:
        return Label(source.y.astype(np.float64), 0)
    place: dict[str, int] = {}
    names = source.class_names or tuple(map(str, range(source.classes)))
    one = np.array([place.setdefault(folded(name), len(place)) for name in names])
    return Label(one[source.y], len(place))


def _repeats(
    source: Source, owner: Ints | None, aside: set[str]
) -> tuple[dict[str, int], list[Problem]]:
    """Repeated samples; in a table those that are equal but for their identifiers,
    against chance.
    """
    if source.columns is None:
        twice = repeats(source.x, source.y, owner, source.official_test)
        return twice, repeated(twice, {}, len(source.x), table=False)
    kept = [at for at, column in enumerate(source.columns.columns) if column.name not in aside]
    x = np.ascontiguousarray(source.x[:, kept]) if kept else source.x
    twice = repeats(x, source.y, owner, source.official_test)
    chance = by_chance(x, source.y, owner, source.official_test) if twice["all"] else {}
    return twice, repeated(twice, chance, len(x), table=source.official_test is None)


def _clients(source: Source) -> tuple[list[str], Ints | None]:
    if source.client is None:
        return [], None
    names, owner = np.unique(source.client, return_inverse=True)
    return [str(name) for name in names], owner.astype(np.int64)


def _columns(source: Source, columns: list[ParsedColumn]) -> list[dict[str, Any]]:
    if source.columns is None:
        return []
    seen = {one.name: one for one in columns}
    described = []
    for at, column in enumerate(source.columns.columns):
        cells = source.x[:, at]
        missing = int(np.isnan(cells).sum())
        one: dict[str, Any] = {"name": column.name, "kind": "number", "missing": missing}
        if column.values:
            one |= {"kind": "text" if column.text else "category", "values": len(column.values)}
            dated = not column.text and is_dates(seen[column.name])
            one |= {"dates": column.values[0]} if dated else {}
        elif missing < len(cells):
            one |= {"least": float(np.nanmin(cells)), "most": float(np.nanmax(cells))}
        described.append(one)
    return described


def _classes(source: Source) -> list[dict[str, Any]]:
    counts = np.bincount(source.y, minlength=source.classes) if source.classes else np.empty(0)
    names = source.class_names or [str(c) for c in range(source.classes)]
    return [{"name": name, "samples": int(count)} for name, count in zip(names, counts)]


def _by_class(source: Source, owner: Ints, clients: int) -> Ints:
    flat = np.bincount(owner * source.classes + source.y, minlength=clients * source.classes)
    return flat.reshape(clients, source.classes)


def _sizes(names: list[str], sizes: Ints, table: Ints | None) -> dict[str, Any]:
    facts: dict[str, Any] = {
        "count": len(names),
        "smallest": int(sizes.min()),
        "median": float(np.median(sizes)),
        "largest": int(sizes.max()),
        "first": names[:SHOWN],
    }
    if table is not None:
        shares = table / sizes[:, None]
        apart = np.abs(shares - table.sum(axis=0) / table.sum()).sum(axis=1) / 2
        facts |= {
            "one_class": int((np.count_nonzero(table, axis=1) == 1).sum()),
            "label_distance": float(apart.mean()),
        }
    return facts
