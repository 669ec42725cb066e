"""``fedkin compare`` as a page: a sentence, a table that sorts, the paired statistics, and
charts of the runs.
"""

from collections.abc import Mapping
from html import escape
from pathlib import Path
from typing import Any

from fedkin.core.errors import percent
from fedkin.report import formatting
from fedkin.report.charts.runs import run_figures
from fedkin.report.comparison.client_scores import client_scores
from fedkin.report.comparison.compare import Comparison
from fedkin.report.comparison.labels import paper_names
from fedkin.report.comparison.paired import best_of, excludes_zero, gain_of, pairs_of
from fedkin.report.comparison.run_row import FINISHED
from fedkin.report.comparison.sheet import Sheet
from fedkin.report.comparison.tables import (
    WEIGHTED,
    cell,
    experiment_sheets,
    score_columns,
    scores_are,
    troubles,
    view_of,
)
from fedkin.report.comparison.what_next import what_next
from fedkin.report.page.document import document, places
from fedkin.report.page.figure_files import write_figure
from fedkin.report.page.figures import content_of
from fedkin.report.page.lead import between, signed
from fedkin.report.page.next_steps import box
from fedkin.report.page.tables import search_bar, section, table
from fedkin.runs.output_files import PAGES, write_outside

SETTING = "setting"  # the heading of what tells settings of one method apart
COSTS = {  # columns beside the scores, and their headings
    "unicast bytes": "bytes",
    "paper scalars": "scalars (paper)",
    "seconds": "time",
    "helped": "helped %",
    "hurt": "hurt %",
}


def write_comparison(comparison: Comparison, target: Path) -> Path:
    """Write the page.

    Args:
        comparison: The runs and their numbers, as ``compare.comparison`` reads them.
        target: The path of the file, ending in .html.

    Returns:
        The same path.

    Raises:
        FedkinError: It cannot be written, or is a run's own file.
    """
    return write_outside(target, page(comparison), PAGES)


def write_charts(comparison: Comparison, folder: Path) -> list[Path]:
    """The page's charts as files, for a paper, with methods in place of the runs' names; that of
    two runs client by client is of the first two, which the page's menus begin with.

    Args:
        comparison: The runs and their numbers, as ``compare.comparison`` reads them.
        folder: Is made where it is not there.

    Returns:
        The paths: of each chart one in every format.

    Raises:
        FedkinError: The folder cannot be written.
    """
    names = paper_names(comparison.seen)
    seen = [one._replace(row={**one.row, "run": names[one.name]}) for one in comparison.seen]
    drawn = run_figures(seen, names.get(comparison.baseline, comparison.baseline))
    return [path for figure in drawn for path in write_figure(figure, folder)]


def page(comparison: Comparison) -> str:
    """The whole page, from a comparison.

    Args:
        comparison: The runs and their numbers, as ``compare.comparison`` reads them.

    Returns:
        HTML, which needs no network.
    """
    figures = run_figures(comparison.seen, comparison.baseline)
    title = f"{formatting.many(len(comparison.rows), 'run')} side by side"
    warnings = [
        f'<p class="warn">{escape(text)}</p>'
        for text in [*troubles(comparison), *comparison.warnings]
    ]
    hints = [f'<p class="soft">{escape(text)}</p>' for text in comparison.hints]
    parts = [
        f"<header><h1>{escape(title)}</h1>",
        f'<p class="lead">{escape(gain)}</p>' if (gain := best_gain(comparison)) else "",
        *warnings,
        *hints,
        box(steps, "this comparison") if (steps := what_next(comparison)) else "",
        "</header><main>",
        _runs(comparison),
        *_others(comparison),
        client_scores(comparison.seen, comparison.baseline),
        *places(figures),
        "</main>",
    ]
    return document(title, parts, content_of(figures))


def best_gain(comparison: Comparison) -> str:
    """Which experiment gains most on the baseline, or loses least, how much, and how sure that is;
    "" without one.

    Args:
        comparison: The runs and their numbers, as ``compare.comparison`` reads them.

    Returns:
        One sentence, or "".
    """
    best = best_of(comparison.pairs)
    if best is None:
        return ""
    measure = best["measure"]
    experiments = sum(row["difference"] is not None for row in comparison.pairs)
    pairs = formatting.many(best["clients"], pairs_of(best))
    pairs += " of client and seed" if pairs_of(best) == "pair" else ""
    ends = between(measure, best["low"], best["high"])
    chance = "" if excludes_zero(best) else ", which may be chance"
    if experiments > 1:
        chance = chance or ", not corrected for the choice"
    return (
        f"{_who(best, experiments, comparison.baseline)}: test {formatting.label(measure)} "
        f"{signed(measure, best['difference'])} "
        f"(95 % interval {ends}{chance}) over {pairs}; {percent(best['better'], 0)} of them do "
        f"better, {percent(best['worse'], 0)} worse."
    )


def _who(best: Mapping[str, Any], experiments: int, baseline: str) -> str:
    """Who gains most on the baseline; or that nobody does, and who comes nearest."""
    name = " ".join(part for part in (best["method"], best["setting"]) if part)
    gain = gain_of(best)
    if experiments == 1:
        way = "better than" if gain > 0 else "worse than" if gain < 0 else "as good as"
        return f"{name} is {way} {baseline} on average"
    of = f"Of {experiments} experiments compared with {baseline}"
    if gain > 0:
        return f"{of}, {name} gains most on average"
    return f"{of}, none is better on average; {name} comes nearest"


def _runs(comparison: Comparison) -> str:
    """Every run, the unfinished and the damaged too, marked by their state."""
    scores = score_columns(comparison.rows, view_of(comparison.rows), comparison.measure)
    columns = {**scores, **COSTS}
    state = "" if all(row["state"] == FINISHED for row in comparison.rows) else "long"
    head = [("run", ""), ("method", ""), ("seed", "n"), ("state", state), ("rounds", "n")]
    head += [(name, "n") for name in columns.values()]
    rows: list[list[Any]] = []
    for row in comparison.rows:
        remarks = [
            row["run"],
            row["method"] or formatting.NONE,
            formatting.integer(row["seed"]),
            row["state"],
            formatting.integer(row["rounds"]),
        ]
        numbers = [
            (cell(name, row[name], comparison.measure), _plain(row[name])) for name in columns
        ]
        rows.append([*remarks, *numbers])
    view, measure = view_of(comparison.rows), comparison.measure
    note = f"{scores_are(measure, view)}; {WEIGHTED}" if view else scores_are(measure, view)
    note += ". Choose a heading to sort. Only finished runs are averaged or paired."
    marks = ["" if row["state"] == FINISHED else "unfinished" for row in comparison.rows]
    return section(
        "runs", "The runs", note, table(head, rows, marks=marks), above=search_bar("runs")
    )


def _others(comparison: Comparison) -> list[str]:
    """The tables over seeds, against the baseline, and of the choice by validation."""
    parts = []
    for number, sheet in enumerate(experiment_sheets(comparison)):
        used = [k for k, name in enumerate(sheet.columns) if name != SETTING or _said(sheet, k)]
        head = [(sheet.columns[k], "" if k < sheet.texts else "n") for k in used]
        rows = [[_sorted_by(sheet, n, k) for k in used] for n in range(len(sheet.rows))]
        shown = table(head, rows, marks=[""] * len(rows))
        parts.append(section(f"sheet-{number}", sheet.title, sheet.caption, shown))
    return parts


def _sorted_by(sheet: Sheet, row: int, column: int) -> Any:
    """The text of a cell, with the number that it is sorted by where there is one: of 900 ms and
    1.2 s, the texts are in the wrong order.
    """
    text, at = sheet.rows[row][column], column - sheet.texts
    return (text, _plain(sheet.values[row][at])) if sheet.values and at >= 0 else text


def _said(sheet: Sheet, column: int) -> bool:
    """Whether any row says something there: an empty column pushes the last one off the page."""
    return any(row[column] for row in sheet.rows)


def _plain(value: Any) -> float | None:
    return None if value is None or value != value else float(value)
