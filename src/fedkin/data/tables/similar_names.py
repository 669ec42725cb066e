"""Names that a reader would take for one: "yes" and " yes", H01 and h01, "site 1" and "site_01"."""

import re
import unicodedata
from collections.abc import Iterable

WIDTH = 200  # letters of a name that are looked at


def similar_names(names: Iterable[str]) -> list[list[str]]:
    """Groups of two or more different names that differ by case, spaces, hyphens, width or leading
    zeros only.

    Args:
        names: Of classes, clients or values.

    Returns:
        Each group in the order of ``names``.
    """
    groups: dict[str, list[str]] = {}
    for name in names:
        groups.setdefault(folded(name), []).append(name)
    return [group for group in groups.values() if len(group) > 1]


def folded(name: str) -> str:
    """A name as all its spellings have it: lower case, single spaces, no leading zeros.

    >>> folded(" Yes"), folded("Site_01")
    ('yes', 'site 1')

    Args:
        name: Anybody's; only its first WIDTH characters count.

    Returns:
        Equal for spellings of one thing.
    """
    text = " ".join(unicodedata.normalize("NFKC", name[:WIDTH]).casefold().split())
    # the minus of "A-" and of "-1" says something
    joined = re.sub(r"(?<=\w)[-_ ]+(?=\w)", " ", text)
    return re.sub(r"(?<![\d.,])0+(?=\d)", "", joined)
