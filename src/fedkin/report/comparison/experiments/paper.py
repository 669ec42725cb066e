"""A comparison as a paper has it: a row a method, with means over its seeds, and no folders."""

from collections.abc import Mapping, Sequence
from typing import Any

from fedkin.report.comparison import tables
from fedkin.report.comparison.compare import Comparison
from fedkin.report.comparison.experiments.over_seeds import counted, over_seeds
from fedkin.report.comparison.run_row import COSTS
from fedkin.report.comparison.sheet import Sheet
from fedkin.report.latex import tables as latex_tables

NAMES = ("method", "setting", "seeds")
SPREAD = "seeds: how many, and which; mean ± their sample standard deviation"
Row = Mapping[str, Any]


def latex(comparison: Comparison) -> str:
    """The comparison as LaTeX, for a paper.

    Args:
        comparison: The runs and their numbers, as ``compare.comparison`` reads them.

    Returns:
        Tables with the rules of booktabs; hints and warnings as comments.
    """
    return latex_tables(paper_sheets(comparison), tables.notes(comparison))


def paper_sheets(comparison: Comparison) -> list[Sheet]:
    """The tables whose rows are methods and their settings. Single runs are in none, and runs that
    are not finished neither.

    Args:
        comparison: The runs and their numbers, as ``compare.comparison`` reads them.

    Returns:
        At least one row each.
    """
    rows = over_seeds(comparison.seen, 1)
    others = tables.experiment_sheets(comparison, means=False)
    return [sheet for sheet in (_scores(rows, comparison), _costs(rows)) if sheet.rows] + others


def _scores(rows: Sequence[Row], comparison: Comparison) -> Sheet:
    view, measure = tables.view_of(rows), comparison.measure
    shown = tables.score_columns(rows, view, measure)
    said = [_spread(rows), tables.WEIGHTED if view else "", _rounds(rows)]
    return Sheet(
        title=tables.scores_are(measure, view),
        columns=[*NAMES, *shown.values()],
        rows=[_cells(row, list(shown), measure) for row in rows],
        texts=len(NAMES),
        caption="; ".join(filter(None, said)),
    )


def _costs(rows: Sequence[Row]) -> Sheet:
    headings = {name: name for name in COSTS} | {"helped": "helped %", "hurt": "hurt %"}
    shown = {name: title for name, title in headings.items() if tables.has(rows, name)}
    same = "a number of bytes without ± is the same under all" if _spread(rows) else ""
    return Sheet(
        title=tables.costs_are(shown),
        columns=[*NAMES, *shown.values()],
        rows=[_cells(row, list(shown), "accuracy") for row in rows],
        texts=len(NAMES),
        caption="; ".join(filter(None, [_spread(rows), same])),
    )


def _cells(row: Row, shown: Sequence[str], measure: str) -> list[str]:
    names = [row["method"], row["setting"], counted(row["seeds"])]
    return [*names, *(tables.spread(name, row, measure) for name in shown)]


def _spread(rows: Sequence[Row]) -> str:
    """What ± is, where anything has one."""
    return SPREAD if any(len(row["seeds"]) > 1 for row in rows) else ""


def _rounds(rows: Sequence[Row]) -> str:
    """After how many rounds, where all had as many: else a warning says who had more."""
    every = {row["rounds"] for row in rows}
    return f"rounds: {every.pop()}" if len(every) == 1 else ""
