"""What a bench says when its rows are there: means over seeds, and where a new method stands."""

from collections.abc import Sequence
from itertools import groupby

from rich.console import Group, RenderableType
from rich.text import Text

from fedkin.bench.gain_over_local import SAME
from fedkin.bench.latest_searches import latest_searches
from fedkin.bench.leaderboard.board import BUDGETS, POOLED, Entry, against_best, entries
from fedkin.bench.leaderboard.page import EQUAL_ROUNDS, titles_of
from fedkin.bench.row import Row
from fedkin.bench.statistics import LEVEL
from fedkin.report import formatting
from fedkin.report.comparison.fitting import Fitting
from fedkin.report.comparison.sheet import Sheet

ENDINGS = {1: "st", 2: "nd", 3: "rd"}  # of 1, 21, 31 …; 11, 12 and 13 have "th"
CAPTION = (
    "equal: the budgets that a line keeps; on local: gain of the mean{points}; hurt: share of "
    "the clients that are worse than alone"
)


def means(rows: Sequence[Row]) -> RenderableType:
    """A table a federation: what each method scored over its seeds, the best first.

    Args:
        rows: Of any suites.

    Returns:
        What rich prints: the tables, and who was not run.
    """
    newest_rows = latest_searches(rows)
    titles = titles_of(newest_rows)
    tables = [
        Fitting(_sheet(titles[federation], list(group)))
        for federation, group in groupby(entries(newest_rows), key=lambda entry: entry.federation)
    ]
    lost = dict.fromkeys(
        f"not run: {row.method} on {titles[row.federation]}: {row.missing}"
        for row in newest_rows
        if row.missing
    )
    return Group(*tables, *map(Text, lost))


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


def _sheet(title: str, entries_here: Sequence[Entry]) -> Sheet:
    """Budgets that one run keeps are one line."""
    lines: dict[tuple[str, ...], list[Entry]] = {}
    for entry in entries_here:
        lines.setdefault(entry.ids, []).append(entry)
    measure = entries_here[0].measure
    seeds = sorted({seed for entry in entries_here for seed in entry.seeds})
    share = formatting.is_share(measure)
    over = f", mean ± sd over seeds {formatting.plain(seeds)}" if len(seeds) > 1 else ""
    return Sheet(
        title=f"{title}: test {formatting.label(measure)}{' in %' if share else ''}{over}",
        columns=["method", "equal", "test", "on local", "hurt %", "sent"],
        rows=[_cells(same) for same in lines.values()],
        texts=2,
        caption=CAPTION.format(points=", in points" if share else ""),
    )


def _cells(same: Sequence[Entry]) -> list[str]:
    one = same[0]
    kept = [budget for budget in BUDGETS if budget in {entry.budget for entry in same}]
    apart = "" if one.spread is None else f" ± {_number(one.measure, one.spread)}"
    return [
        one.method,
        "all" if len(kept) == len(BUDGETS) else ", ".join(kept),
        f"{_number(one.measure, one.mean)}{apart}",
        _gain(one.measure, one.gain),
        formatting.percent_or_dash(one.hurt).removesuffix(" %"),
        formatting.size(one.bytes),
    ]


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
    apart = "is better" if p < LEVEL else "is not told apart from it"
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
        return "client by client it is told apart from all others"
    return f"client by client it is not told apart from {', '.join(near)}"


def _number(measure: str, value: float) -> str:
    return formatting.value(measure, value).removesuffix(" %")


def _gain(measure: str, gain: float | None) -> str:
    """In points of a share, else as the measure counts; above 0 is better."""
    if gain is None:
        return formatting.NONE
    return f"{100 * gain:+.2f}" if formatting.is_share(measure) else f"{gain:+.4f}"
