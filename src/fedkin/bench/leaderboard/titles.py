"""What the federations of a leaderboard are called."""

from collections import Counter
from collections.abc import Sequence
from functools import cache

from fedkin.bench.row import Row
from fedkin.bench.suite import names, suite


def titles_of(rows: Sequence[Row]) -> dict[str, str]:
    """Titles of the federations: those that fedkin's own suites have, else as the last row with one
    says, else the labels. Who shares a title has its federation beside it.

    Args:
        rows: Of any suites.

    Returns:
        {federation: title}.
    """
    known = _titles()
    in_rows = {(row.suite, row.setting): row.title for row in rows if row.title}
    by = {**in_rows, **known}
    named = {row.federation: by.get((row.suite, row.setting), row.setting) for row in rows}
    several = {title for title, count in Counter(named.values()).items() if count > 1}
    return {
        federation: f"{title} ({federation})" if title in several else title
        for federation, title in named.items()
    }


@cache
def _titles() -> dict[tuple[str, str], str]:
    """(suite, label) → title, in fedkin's own suites."""
    return {
        (name, label): setting.title
        for name in names()
        for label, setting in suite(name).settings.items()
    }
