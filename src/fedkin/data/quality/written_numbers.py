"""Numbers that are read as words: with a decimal comma, separators of thousands, a unit, or as
hours and minutes.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from fedkin.core.errors import some
from fedkin.data.quality.parsed_columns import ParsedColumn
from fedkin.data.quality.problem import Problem
from fedkin.data.tables.columns import MISSING

FEW = 10  # different values, below which they may be names of groups: "50 mg" and "100 mg"
LONGEST = 60  # characters of a number with its unit; longer cells are texts
PLAIN_NUMBER = re.compile(r"[-+]?\d+(\.\d+)?")
COMMA = re.compile(r"[-+]?\d*,\d+")
THOUSANDS = re.compile(
    r"[-+]?\d{1,3}((,\d{3})+(\.\d+)?|(\.\d{3})+(,\d+)?|([ '\u00a0\u2009\u202f]\d{3})+([.,]\d+)?)"
)
UNIT = re.compile(r"[-+]?\d+([.,]\d+)?\s*([^\W\d_][^\W\d_/²³]*[/²³]?[^\W\d_]*|[%€$£°])")
CLOCK = re.compile(r"-?(\d+ days? [-+]?)?\d{1,3}:\d{2}(:\d{2}(\.\d+)?)?")


class Way(NamedTuple):
    """How numbers are written, what to do about it, and the keys of [data] that do it."""

    written: str
    advice: str
    fix: Mapping[str, Any] = {}


COMMAS = Way("a decimal comma", "say what stands before a fraction", {"data.decimal": ","})
THOUSAND = Way("separators of thousands", "write them without")
UNITS = Way("a unit", "write the number alone")
CLOCKS = Way("a colon, as times of day or durations have", "write one number, such as hours")


def written_numbers(
    columns: Sequence[ParsedColumn], label: ParsedColumn | None = None
) -> list[Problem]:
    """Columns of words that a person reads as numbers. Each word would be a category.

    Args:
        columns: All that a model would see.
        label: The labels, where they are classes.

    Returns:
        One problem for each way of writing, with its columns.
    """
    found: dict[str, list[ParsedColumn]] = {}
    for one in [*columns, *([] if label is None else [label])]:
        if (way := way_of(one.values)) is not None:
            found.setdefault(way.written, []).append(one)
    ways = (COMMAS, THOUSAND, UNITS, CLOCKS)
    return [_problem(way, found[way.written]) for way in ways if way.written in found]


def way_of(values: Sequence[str]) -> Way | None:
    """How these words write numbers.

    Args:
        values: The different words of a column.

    Returns:
        None where they are no numbers, are plain ones, or are few.
    """
    words = [word for value in values if (word := value.strip()) not in MISSING]
    if max(map(len, words), default=0) > LONGEST:
        return None
    odd = [word for word in words if not PLAIN_NUMBER.fullmatch(word)]
    if len(words) < FEW or 2 * len(odd) < len(words):
        return None
    for way, form in ((THOUSAND, THOUSANDS), (COMMAS, COMMA), (CLOCKS, CLOCK)):
        if all(form.fullmatch(word) for word in odd):
            return way
    matches = [UNIT.fullmatch(word) for word in odd]
    units = {match and match[2] for match in matches}
    return UNITS if None not in units and len(units) == 1 else None


def _problem(way: Way, columns: Sequence[ParsedColumn]) -> Problem:
    names = tuple(one.name for one in columns)
    first = next(value for value in columns[0].values if not PLAIN_NUMBER.fullmatch(value.strip()))
    holds = f"column {names[0]!r} holds"
    if len(names) > 1:
        holds = f"columns {some([repr(name) for name in names])} hold"
    says = f"{holds} numbers with {way.written} ({first!r})"
    why = f"each value is taken for a category; {way.advice}"
    return Problem("number as a word", says, why, way.fix, None, names)
