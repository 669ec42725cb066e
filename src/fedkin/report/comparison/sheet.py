"""A table of text, and what stands below some of them."""

from typing import NamedTuple

TIES = (
    "=: shared by those whose paired differences from the first of the rank cannot be "
    "distinguished from 0 (95 %)"
)


class Sheet(NamedTuple):
    """A table of text; the first ``texts`` columns are words, the others numbers."""

    title: str
    columns: list[str]
    rows: list[list[str]]
    texts: int
    caption: str = ""
