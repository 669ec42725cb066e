"""A reproduced preset as Markdown and as a page: measured beside published."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from fedkin.report import formatting
from fedkin.report.charts.base import Figure
from fedkin.report.charts.runs import run_figures
from fedkin.report.comparison.run_row import read_run
from fedkin.report.page.document import document, places
from fedkin.report.page.figure_files import charts_of
from fedkin.report.page.figures import content_of
from fedkin.report.page.tables import search_bar, section, table
from fedkin.report.records import opened
from fedkin.reproduce.estimate import Estimate, total_of
from fedkin.reproduce.finished_rows import FinishedRun, FinishedRuns, kept, key_of, text_of
from fedkin.reproduce.histograms import RECOVERY, recovery_figure
from fedkin.reproduce.measures import MEASURES, OVER_SEEDS
from fedkin.reproduce.outcome import Outcome, mean, single
from fedkin.reproduce.preset import Preset
from fedkin.runs.output_files import write_outside

COLUMNS = {  # name → class of its cells on the page
    "row": "",
    "what": "",
    "published": "n",
    "measured": "n",
    "difference": "n",
    "seeds": "n",
    "estimated": "n",
    "taken": "n",
    "command": "command",
}
TITLES = {name: title for name, (title, _) in {**MEASURES, **OVER_SEEDS}.items()}
SMALL = (
    "The small scale has fewer rounds, clients and samples, and smaller networks than the paper: "
    "compare the order of the rows with what is published, never their level."
)
NEAR = 1.0  # of a published number: what the sentence at the top counts
# what is to be known of a measure where it is shown
SAID = {
    "sd over clients": (
        "Its sd over clients: of each run, then the mean over seeds. It is at least the paper's "
        "statistic, the sd over clients of each client's mean over the runs (by construction: the "
        "noise of a single run is in it)."
    ),
    "sd over clients of means": (
        "Sd over clients of their means over seeds: the population sd, as in each run. It is known "
        "where every run tells each client's accuracy, which older CSVs do not."
    ),
    "processor minutes": (
        "Processor minutes: of all processes of a run together, on whatever else was running; "
        "ratios between rows are what may be compared."
    ),
    "highest": (
        "Highest over rounds: the round was chosen by test data, as the paper does, among the "
        "rounds that were evaluated: with evaluate_every = 10 each tenth one, so that the highest "
        "of all rounds may be higher. It is missing for seeds whose run was not kept."
    ),
    "highest weighted": (
        "Highest over rounds, weighted by test samples: the round was chosen by test data, among "
        "the rounds that were evaluated. pFedMe's public code prints its numbers so; the paper "
        "does not say which round its own are of."
    ),
}
HIGHEST = ("highest", "highest weighted")  # their round is chosen by test data
MOST = 4  # rows whose charts a page shows


def lines(outcomes: Sequence[Outcome]) -> list[dict[str, Any]]:
    """One line a row and number, plain values; ``missing`` says why a row was not run.

    Args:
        outcomes: What came of each row.

    Returns:
        A dict a number.
    """
    rows = []
    for one in outcomes:
        for value in one.row.values:
            over, numbers = one.over_seeds.get(value.measure), one.numbers.get(value.measure, [])
            measured = mean(numbers) if value.measure not in OVER_SEEDS else over
            published = value.published
            difference = None
            if measured is not None and isinstance(published, float):
                difference = measured - published
            rows.append(
                {
                    "row": one.row.name,
                    "measure": value.measure,
                    "what": TITLES.get(value.measure, value.measure),
                    "published": published,
                    "measured": measured,
                    "sd": float(np.std(numbers, ddof=1)) if len(numbers) > 1 else None,
                    "difference": difference,
                    "seeds": _seeds(one, value.measure),
                    "estimated_seconds": one.estimated.seconds,
                    "estimate_is_rough": one.estimated.rough,
                    "seconds": one.seconds,
                    "command": one.command,
                    "missing": one.missing,
                }
            )
    return rows


def _seeds(one: Outcome, measure: str) -> list[int]:
    """Those whose runs have the number: a measure may be newer than a run that is in a CSV."""
    if measure in OVER_SEEDS or not one.runs:
        return one.seeds
    return [run.seed for run in one.runs if run.numbers.get(measure) is not None]


def cells(line: dict[str, Any]) -> list[str]:
    """A line as text, in the order of COLUMNS.

    Args:
        line: Of ``lines``.

    Returns:
        A text a column.
    """
    spread = "" if line["sd"] is None else f" ± {_number(line['sd'])}"
    measured = "not run" if line["missing"] else f"{_number(line['measured'])}{spread}"
    difference = "" if line["difference"] is None else f"{line['difference']:+.2f}"
    if line["difference"] is not None and abs(line["difference"]) >= 1000:
        difference = f"{line['difference']:+.3g}"
    seeds = formatting.plain(line["seeds"])
    estimated = Estimate(line["estimated_seconds"], line["estimate_is_rough"])
    times = [str(estimated), formatting.seconds(line["seconds"])]
    return [
        line["row"],
        line["what"],
        _number(line["published"]),
        measured,
        difference,
        seeds,
        *times,
        line["command"],
    ]


def shared(names: Sequence[str]) -> tuple[str, str]:
    """What all names begin and end with, in whole words; of one name nothing.

    >>> shared(["comet-f2-local-small", "comet-f2-fedavg-client 0-small"])
    ('comet-f2-', '-small')

    Args:
        names: Of rows.

    Returns:
        (beginning, end), perhaps "".
    """
    parts = [name.split("-") for name in names]
    room = min(len(part) for part in parts) - 1 if len(parts) > 1 else 0  # each keeps a word
    first = last = 0
    while first < room and len({part[first] for part in parts}) == 1:
        first += 1
    while last < room - first and len({part[-1 - last] for part in parts}) == 1:
        last += 1
    begin, end = parts[0][:first], parts[0][len(parts[0]) - last :]
    return "".join(f"{word}-" for word in begin), "".join(f"-{word}" for word in end)


def markdown(preset: Preset, outcomes: Sequence[Outcome], scale: str, asked: str) -> str:
    """The table, with what it is about, what was not run, and the command that made it.

    Args:
        preset: What was run.
        outcomes: What came of each row.
        scale: "small" or "full".
        asked: The command that made it.

    Returns:
        The page.
    """
    head = [f"# {preset.title}", "", preset.about, "", f"Scale: {scale}. Made by `{asked}`.", ""]
    rows = [f"| {' | '.join(COLUMNS)} |", "|---" * len(COLUMNS) + "|"]
    for line in lines(outcomes):
        *texts, last = cells(line)
        rows.append(f"| {' | '.join(texts)} | `{last}` |")
    return "\n".join(
        [*head, *rows, "", *(f"- {text}" for text in _remarks(preset, outcomes, scale)), ""]
    )


def _remarks(preset: Preset, outcomes: Sequence[Outcome], scale: str) -> list[str]:
    """What is to be known below the rows, in either form of the page."""
    of_scale = [SMALL] if scale == "small" else []
    return [*of_scale, *flags(preset), *notes(outcomes)]


def flags(preset: Preset) -> list[str]:
    """What is wrong with the published numbers themselves.

    Args:
        preset: What was run.

    Returns:
        A sentence each.
    """
    return [f"Published numbers that contradict themselves: {flag.says}" for flag in preset.flagged]


def notes(outcomes: Sequence[Outcome]) -> list[str]:
    """How to read the numbers, and why rows are missing.

    Args:
        outcomes: What came of each row.

    Returns:
        A sentence each.
    """
    asked = {value.measure for one in outcomes for value in one.row.values}
    but = ", but in lines that say “highest over rounds”" if asked & {*HIGHEST} else ""
    remarks = [
        "Measured: mean over seeds of the last round, ± sd over seeds; no round was chosen "
        f"by test data{but}."
    ]
    remarks += [text for measure, text in SAID.items() if measure in asked]
    remarks.append(
        "Estimated, taken: processor time of all processes together; ~ where it is counted "
        "from another row's."
    )
    from_elsewhere = sum(len(one.taken) for one in outcomes)
    if from_elsewhere:
        remarks.append(
            "Made on another machine, taken from its CSV as settings are equal: "
            f"{formatting.many(from_elsewhere, 'run')}."
        )
    for title, runs in _lacking(outcomes).items():
        remarks.append(
            f"Without this number, and not run again for it: {title} of "
            f"{formatting.many(runs, 'run')}."
        )
    if apart := [f"{run.row}, seed {run.seed}" for one in outcomes for run in one.apart]:
        remarks.append(
            "Run here with another fingerprint than the CSV tells of the same settings and version "
            f"(the CSV does not name its machine or engine: on the same ones it must not be): "
            f"{'; '.join(apart)}."
        )
    reasons = dict.fromkeys(one.missing for one in outcomes if one.missing)
    for reason in reasons:
        rows = [one for one in outcomes if one.missing == reason]
        cost = total_of(one.estimated for one in rows)
        remarks.append(
            f"Not run, {formatting.many(len(rows), 'row')}, processor time {cost}: {reason}"
        )
    return remarks


def _lacking(outcomes: Sequence[Outcome]) -> dict[str, int]:
    """By the title of a measure: how many runs were taken that do not tell it."""
    counts = Counter(
        TITLES[name]
        for one in outcomes
        for run in one.runs
        if run.seed in one.taken
        for name in single(one.row)
        if name not in run.numbers
    )
    return dict(counts)


def write(
    preset: Preset, outcomes: Sequence[Outcome], scale: str, asked: str, out: Path
) -> list[Path]:
    """Write NAME.md, NAME.html and NAME.csv (the finished runs, for another machine to take). Runs
    that the CSV tells already and this call did not ask for, of another row, seed or setting, stay
    in it.

    Args:
        preset: What was run.
        outcomes: What came of each row.
        scale: "small" or "full".
        asked: The command that made it.
        out: The folder of the files.

    Returns:
        The three paths.

    Raises:
        FedkinError: A file of that name is no CSV of finished rows, or cannot be written.
    """
    finished = text_of(_merged(outcomes, kept(out / f"{preset.name}.csv")))
    made = {
        "md": markdown(preset, outcomes, scale, asked),
        "html": page(preset, outcomes, scale, asked),
        "csv": finished,
    }
    return [write_outside(out / f"{preset.name}.{kind}", text) for kind, text in made.items()]


def _merged(outcomes: Sequence[Outcome], before: FinishedRuns) -> list[FinishedRun]:
    """Rows in the preset's order, then those of other scales."""
    runs = {**before, **{key_of(run): run for one in outcomes for run in one.runs}}
    order = {one.row.name: place for place, one in enumerate(outcomes)}
    return sorted(runs.values(), key=lambda run: (order.get(run.row, len(order)), run.seed))


def page(preset: Preset, outcomes: Sequence[Outcome], scale: str, asked: str) -> str:
    """The whole page. The table sorts; below are the runs over rounds and bytes, and the charts
    that the preset is about.

    Args:
        preset: What was run.
        outcomes: What came of each row.
        scale: "small" or "full".
        asked: The command that made it.

    Returns:
        HTML, which needs no network.
    """
    rows: list[list[Any]] = [[*cells(line)] for line in lines(outcomes)]
    begin, end = shared([one.row.name for one in outcomes])
    for row in rows:
        row[0] = row[0].removeprefix(begin).removesuffix(end)
    note = f"The whole name of a row: {begin}…{end}." if begin or end else ""
    marks = ["unfinished" if line["missing"] else "" for line in lines(outcomes)]
    content = table(list(COLUMNS.items()), rows, marks=marks)
    seen = [read_run(folder, folder.name) for one in outcomes for folder in one.folders[:1]]
    figures = [*_charts(preset, outcomes), *(run_figures(seen, seen[0].name) if seen else [])]
    parts = [f"<h1>{escape(preset.title)}</h1>"]
    parts.append(f'<p class="lead">{escape(_lead(lines(outcomes)))}</p>')
    parts.append(f"<p>{_prose(preset.about)}</p>")
    parts += [f'<p class="soft">Scale: {scale}. Made by: <code>{escape(asked)}</code></p>']
    items = "".join(f"<li>{escape(text)}</li>" for text in _remarks(preset, outcomes, scale))
    parts += [
        section("table", "Measured beside published", note, content, above=search_bar("rows")),
        f"<ul>{items}</ul>",
        *places(figures),
    ]
    return document(preset.title, ["<main>", *parts, "</main>"], content_of(figures))


def _lead(table_lines: Sequence[Mapping[str, Any]]) -> str:
    """How many rows were measured, and how near they are to what was published."""
    measured = [line for line in table_lines if not line["missing"]]
    apart = [abs(line["difference"]) for line in measured if line["difference"] is not None]
    beginning = f"{len(measured)} of {formatting.many(len(table_lines), 'row')} measured"
    if not apart:
        return f"{beginning}; none of them has a published number."
    near = sum(one <= NEAR for one in apart)
    return (
        f"{beginning}, {len(apart)} with a published number: {near} within {NEAR:g} of it, "
        f"the farthest {max(apart):.2f} away."
    )


def _prose(text: str) -> str:
    """Markdown's `code` as HTML's."""
    return re.sub("`([^`]*)`", r"<code>\1</code>", escape(text))


def _charts(preset: Preset, outcomes: Sequence[Outcome]) -> list[Figure]:
    """The preset's charts of the first rows, named after them."""
    drawn = []
    for number, one in enumerate(
        [one for one in outcomes if one.folders][:MOST] if preset.charts else []
    ):
        with opened(one.folders[0]) as run:
            of_run = {figure.name: figure for figure in charts_of(run)}
        if RECOVERY in preset.charts and (found_out := recovery_figure(one.folders[0])) is not None:
            of_run[RECOVERY] = found_out
        for name in preset.charts:
            if name in of_run:
                title = f"{of_run[name].title}: {one.row.name}"
                drawn.append(of_run[name]._replace(name=f"{name}-{number}", title=title))
    return drawn


def _number(value: float | str | None) -> str:
    if value is None:
        return formatting.NONE
    if isinstance(value, str):
        return value
    return f"{value:.3g}" if abs(value) >= 1000 or 0 < abs(value) < 0.1 else f"{value:.2f}"
