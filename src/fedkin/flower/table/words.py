"""What a raw table had that its inputs do not say as it was, in words: alike for ``prepare`` and
for ``predict``.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from fedkin.core.errors import many, some

NAMED = 5  # words, and columns, in a sentence


def gaps_in_words(filled: Sequence[Mapping[str, Any]]) -> str:
    """Which columns had gaps.

    Args:
        filled: {"column", "rows"} each.

    Returns:
        A sentence without its full stop; "" where there was none.
    """
    each = [f"{one['column']} ({one['rows']:,})" for one in filled]
    return f"gaps are filled, in so many rows: {some(each, NAMED)}" if each else ""


def unknown_in_words(unknown: Sequence[Mapping[str, Any]]) -> list[str]:
    """Words that the file of columns does not have.

    Args:
        unknown: {"column", "rows", "words"} each.

    Returns:
        A sentence a column, without its full stop.
    """
    return [
        f"column {one['column']!r}: {many(one['rows'], 'row has', 'rows have')} words that the "
        f"file of columns does not: {some(map(repr, one['words']), NAMED)}"
        for one in unknown
    ]
