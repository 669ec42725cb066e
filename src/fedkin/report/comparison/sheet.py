"""A table of text, and what stands below some of them."""

from collections.abc import Sequence
from typing import NamedTuple

TIES = (
    "=: shared by those whose paired differences from the first of the rank cannot be "
    "distinguished from 0 (95 %)"
)


class Sheet(NamedTuple):
    """A table of text; the first ``texts`` columns are words, the others numbers. ``values``: what
    those of each row are sorted by, None where it is unknown; (): by their texts.
    """

    title: str
    columns: list[str]
    rows: list[list[str]]
    texts: int
    caption: str = ""
    values: Sequence[Sequence[float | None]] = ()
