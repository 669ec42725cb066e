"""Where a method stands among all others, in words."""

from collections.abc import Sequence
from itertools import groupby

from fedkin.bench.latest_searches import latest_searches
from fedkin.bench.leaderboard.entries import EQUAL_ROUNDS, POOLED, Entry, entries
from fedkin.bench.leaderboard.ranking import against_best
from fedkin.bench.leaderboard.titles import titles_of
from fedkin.bench.row import Row
from fedkin.bench.statistics import LEVEL
from fedkin.report import formatting

SAME = 1e-9  # scores that differ by less share a place
ENDINGS = {1: "st", 2: "nd", 3: "rd"}  # of 1, 21, 31 …; 11, 12 and 13 have "th"


def standings(method: str, rows: Sequence[Row]) -> list[str]:
    """Where a method stands among all that the rows have at equal rounds.

    Args:
        method: As rows name it.
        rows: All that stand beside each other.

    Returns:
        A sentence a federation that it was run on.
    """
    newest_rows = latest_searches(rows)
    titles = titles_of(newest_rows)
    at_equal_rounds = [
        entry
        for entry in entries(newest_rows)
        if entry.budget == EQUAL_ROUNDS and entry.method != POOLED
    ]
    sentences = []
    for federation, group in groupby(at_equal_rounds, key=lambda entry: entry.federation):
        entries_here = list(group)
        if method in {entry.method for entry in entries_here}:
            sentences.append(
                f"{titles[federation]}: {_standing(method, entries_here, newest_rows)}"
            )
    return sentences


def _standing(method: str, mine: Sequence[Entry], rows: Sequence[Row]) -> str:
    """``mine``: of one federation, the best first."""
    names = [one.method for one in mine]
    own = mine[names.index(method)].score
    place = 1 + sum(one.score > own + SAME for one in mine)
    among = f"{_ordinal(place)} of {len(names)} methods at equal rounds"
    compared = [row for row in rows if row.method in names]  # who failed under a seed is not
    best, others = against_best(compared, mine[0].federation, EQUAL_ROUNDS)
    if method == best:
        near = [one.method for one in others if one.p >= LEVEL]
        return f"{method} is the {among}; {_near(near, len(others))}"
    top = next(one for one in mine if one.method == best)
    p = next(one.p for one in others if one.method == method)
    apart = "is better" if p < LEVEL else "is not distinguished from it"
    return (
        f"{method} is the {among}; the best, {best} ({formatting.value(top.measure, top.mean)}), "
        f"{apart} client by client (p = {p:.2g})"
    )


def _ordinal(place: int) -> str:
    ending = "th" if place % 100 in (11, 12, 13) else ENDINGS.get(place % 10, "th")
    return f"{place}{ending}"


def _near(near: Sequence[str], others: int) -> str:
    if not others:
        return "no other has rows there"
    if not near:
        return "client by client it is distinguished from all others"
    return f"client by client it is not distinguished from {', '.join(near)}"
