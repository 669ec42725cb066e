"""Numbers that are read as words: with a decimal comma, separators of thousands, or a unit."""

import re
from collections.abc import Sequence

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
        if (way := _way(one.values)) is not None:
            found.setdefault(way, []).append(one)
    return [_problem(way, found[way]) for way in (",", "thousands", "unit") if way in found]


def _way(values: Sequence[str]) -> str | None:
    words = [word for value in values if (word := value.strip()) not in MISSING]
    if max(map(len, words), default=0) > LONGEST:
        return None
    odd = [word for word in words if not PLAIN_NUMBER.fullmatch(word)]
    if len(words) < FEW or 2 * len(odd) < len(words):
        return None
    if all(THOUSANDS.fullmatch(word) for word in odd):
        return "thousands"
    if all(COMMA.fullmatch(word) for word in odd):
        return ","
    matches = [UNIT.fullmatch(word) for word in odd]
    units = {match and match[2] for match in matches}
    return "unit" if None not in units and len(units) == 1 else None


def _problem(way: str, columns: Sequence[ParsedColumn]) -> Problem:
    names = tuple(one.name for one in columns)
    written, advice, fix = {
        ",": ("a decimal comma", "say what stands before a fraction", {"data.decimal": ","}),
        "thousands": ("separators of thousands", "write them without", {}),
        "unit": ("a unit", "write the number alone", {}),
    }[way]
    first = next(value for value in columns[0].values if not PLAIN_NUMBER.fullmatch(value.strip()))
    holds = f"column {names[0]!r} holds"
    if len(names) > 1:
        holds = f"columns {some([repr(name) for name in names])} hold"
    says = f"{holds} numbers with {written} ({first!r})"
    why = f"each value is taken for a category; {advice}"
    return Problem("number as a word", says, why, fix, None, names)
