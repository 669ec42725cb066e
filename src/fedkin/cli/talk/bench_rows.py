"""What a bench says when its rows are there: means over seeds."""

from collections.abc import Sequence
from itertools import groupby

from rich.console import Group, RenderableType
from rich.text import Text

from fedkin.bench.latest_searches import latest_searches
from fedkin.bench.leaderboard.entries import BUDGETS, Entry, entries
from fedkin.bench.leaderboard.titles import titles_of
from fedkin.bench.row import Row
from fedkin.report import formatting
from fedkin.report.comparison.fitting import Fitting
from fedkin.report.comparison.sheet import Sheet

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


def _number(measure: str, value: float) -> str:
    return formatting.value(measure, value).removesuffix(" %")


def _gain(measure: str, gain: float | None) -> str:
    """In points of a share, else as the measure counts; above 0 is better."""
    if gain is None:
        return formatting.NONE
    return f"{100 * gain:+.2f}" if formatting.is_share(measure) else f"{gain:+.4f}"
