"""The page of a search while it goes on, for ``fedkin watch``: its trials by validation data. No
score on test data is shown, for a setting that is chosen by one has a score that is too good.
"""

import math
import re
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any, NamedTuple

from fedkin.core.measures import comparable
from fedkin.report import formatting
from fedkin.report.comparison.run_row import ComparedRun, read_run
from fedkin.report.comparison.sheet import TIES
from fedkin.report.live import runs_in, written
from fedkin.report.page.document import document
from fedkin.report.page.figures import content_of
from fedkin.report.page.next_steps import NextStep, box, shown
from fedkin.report.page.tables import search_bar, section, table
from fedkin.runs.directory import RECORD, SPEC
from fedkin.runs.output_files import STUDY
from fedkin.sweep.score import Score, places

TRIAL = re.compile(r"\d{4,}-")  # how the names of trials' folders begin
NOTE = (
    "validation: mean over clients of the personal models after the last round, weighted by "
    "validation samples; of an unfinished trial after its latest one, and not ranked. "
)


class _Ranked(NamedTuple):
    """A trial: ``rank`` as it is shown, "" where it has none."""

    seen: ComparedRun
    rank: str = ""


class LiveTrials:
    """The page of the trials that a sweep's folder holds by now.

    Args:
        folder: Of a sweep.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._kept: dict[Path, tuple[tuple[float, ...], ComparedRun]] = {}

    @staticmethod
    def of(folder: Path) -> "LiveTrials | None":
        """The page of a folder.

        Args:
            folder: Any one.

        Returns:
            None where the folder is no sweep's.
        """
        return LiveTrials(folder) if (folder / STUDY).is_file() else None

    def page(self) -> tuple[str, bool]:
        """(the page, True: trials can always come).

        Returns:
            (HTML, True: trials can always come).

        Raises:
            FedkinError: The folder cannot be read.
        """
        runs = runs_in(self.folder, f"*/{RECORD}")
        trials = [self._read(run) for run in runs if TRIAL.match(run.name)]
        return _page(_ranked(trials)), True

    def _read(self, run: Path) -> ComparedRun:
        """A trial, read again when its record has changed."""
        now = written(run)
        kept = self._kept.get(run)
        if kept is None or kept[0] != now:
            kept = self._kept[run] = now, read_run(run, run.name)
        return kept[1]


def _ranked(trials: Sequence[ComparedRun]) -> list[_Ranked]:
    """The finished trials with a score, best first; then the others by their names."""
    known = [
        (one, Score(one.measure, one.validation, one.validated, one.samples))
        for one in trials
        if one.finished and one.validation is not None and math.isfinite(one.validation)
    ]
    known.sort(key=lambda pair: -comparable(pair[1].objective))
    shared = places([score for _, score in known])
    ranked = [
        _Ranked(one, formatting.rank(*place)) for (one, _), place in zip(known, shared, strict=True)
    ]
    scored = {one.name for one, _ in known}
    return [*ranked, *(_Ranked(one) for one in trials if one.name not in scored)]


def _page(trials: Sequence[_Ranked]) -> str:
    title = f"{formatting.many(len(trials), 'trial')} by validation"
    parts = [
        f"<header><h1>{escape(title)}</h1>",
        f'<p class="lead">{escape(_lead(trials))}</p>',
        box(_next(trials[0].seen), "this search") if trials and trials[0].rank else "",
        f"</header><main>{_table(trials) if trials else ''}</main>",
    ]
    return document(title, parts, content_of([]))


def _lead(trials: Sequence[_Ranked]) -> str:
    """Which trial is best, and how many share its rank."""
    if not trials or not trials[0].rank:
        return "No trial has a value yet."
    first = trials[0]
    what, value = formatting.label(first.seen.measure), first.seen.validation
    others = sum(one.rank == first.rank for one in trials) - 1
    shared = (
        f", and {formatting.many(others, 'other')} cannot be distinguished from it"
        if others
        else ""
    )
    return (
        f"{first.seen.name} is best so far: validation {what} {formatting.decimal(value)}{shared}. "
        "No test score is shown."
    )


def _next(best: ComparedRun) -> list[NextStep]:
    if best.folder is None:
        return []
    fresh = int(best.row["seed"] == 0)
    target = shown(best.folder.parent / f"seed{fresh}-{best.name}")
    again = f"fedkin run {shown(best.folder / SPEC)} --seed {fresh} --out {target}"
    report = f"fedkin report {shown(best.folder)}"
    return [
        NextStep("When the search is over, run the best setting under other seeds:", again),
        NextStep(f"The report of {best.name}, with its test scores:", report),
    ]


def _table(trials: Sequence[_Ranked]) -> str:
    measure = next((one.seen.measure for one in trials if one.seen.measure), "accuracy")
    head = [("trial", ""), ("rank", ""), (f"validation {formatting.label(measure)}", "n")]
    head += [("rounds", "n"), ("time", "n"), ("state", "long")]
    rows = [_row(one) for one in trials]
    marks = ["" if one.rank else "unfinished" for one in trials]
    shown_table = table(head, rows, marks=marks)
    return section(
        "trials", "The trials", f"{NOTE}{TIES}.", shown_table, above=search_bar("trials")
    )


def _row(one: _Ranked) -> list[Any]:
    """A trial's cells; a damaged one has a name and a state."""
    seen, row = one.seen, one.seen.row
    value = seen.validation
    known = value is not None and math.isfinite(value)
    state = row["state"] if known or value is None else f"{row['state']}; a client diverged"
    return [
        seen.name,
        one.rank,
        (formatting.decimal(value) if known else formatting.NONE, value if known else None),
        formatting.integer(row.get("rounds")),
        (formatting.seconds(row.get("seconds")), row.get("seconds")),
        "; ".join([state, *filter(None, [seen.unscored])]),
    ]
