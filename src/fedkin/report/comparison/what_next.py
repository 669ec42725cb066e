"""What a comparison shows, in words, and what to try next."""

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from fedkin.core.errors import percent
from fedkin.report import formatting
from fedkin.report.comparison.best_setting import comparable_groups
from fedkin.report.comparison.compare import Comparison
from fedkin.report.comparison.labels import labels
from fedkin.report.comparison.paired import DEFAULT, best_of, excludes_zero, gain_of, pairs_of
from fedkin.report.comparison.run_row import ComparedRun, by_experiment
from fedkin.report.page.next_steps import NextStep, near, shown
from fedkin.report.words.typed_folders import typed_folders
from fedkin.runs.directory import SPEC

ENOUGH = 3  # seeds


def what_next(comparison: Comparison) -> list[NextStep]:
    """The most important first; nothing where no run has a pair.

    Args:
        comparison: The runs and their numbers, as ``compare.comparison`` reads them.

    Returns:
        A few steps, or [].
    """
    best = best_of(comparison.pairs)
    if best is None:
        return []
    groups = by_experiment(comparison.seen)
    steps = [NextStep(_verdict(comparison.pairs, comparison.baseline))]
    steps += _of_best(best, _runs_of(best, groups), comparison.bases)
    if not comparison.settings and comparable_groups(groups):
        folders = typed_folders([near(one.folder) for one in comparison.seen if one.folder])
        advice = "Several settings of a method: validation data choose one of each."
        steps.append(NextStep(advice, f"fedkin compare {folders} --best{_against(comparison)}"))
    return steps


def _against(comparison: Comparison) -> str:
    """The option that names the baseline again, where it is not the one taken without it."""
    names = {str(row["method"]) for row in comparison.rows} | {one.name for one in comparison.seen}
    if comparison.baseline == DEFAULT or comparison.baseline not in names:
        return ""
    return f" --against {shlex.quote(comparison.baseline)}"


def _runs_of(row: Mapping[str, Any], groups: Sequence[list[ComparedRun]]) -> list[ComparedRun]:
    """The finished runs of a row's experiment that have clients' scores: test data choose none of
    them, and no other setting of the method is among them.
    """
    for group, label in zip(groups, labels(groups), strict=True):
        if (group[0].row["method"], label) == (row["method"], row["setting"]):
            return [one for one in group if one.personal]
    return []


def _verdict(rows: Sequence[Mapping[str, Any]], baseline: str) -> str:
    """How many experiments gain, lose, or cannot be distinguished."""
    pairs = [row for row in rows if row["difference"] is not None]
    sure = [row for row in pairs if excludes_zero(row)]
    gain = sum(gain_of(row) > 0 for row in sure)
    lose, open_ = len(sure) - gain, len(pairs) - len(sure)
    return (
        f"By their 95 % intervals, each by itself: {gain} of "
        f"{formatting.many(len(pairs), 'experiment')} better than {baseline}, {lose} worse, "
        f"{open_} not distinguished from it."
    )


def _of_best(
    best: Mapping[str, Any], runs: Sequence[ComparedRun], baseline: Sequence[ComparedRun]
) -> list[NextStep]:
    """What to do with the first of the experiment's runs."""
    run = next((one for one in runs if one.folder is not None), None)
    if run is None or run.folder is None:
        return []
    folder = run.folder
    spec, steps = shown(folder / SPEC), _under_another_seed(run, folder, runs, baseline)
    if best["worse"] > 0 and not run.safe:
        advice = (
            f"{percent(best['worse'], 0)} of the {pairs_of(best)}s do worse. With safe = true "
            "each client keeps what its validation prefers, and fewer lose:"
        )
        steps.append(NextStep(advice, f"fedkin run {spec} --set method.safe=true"))
    steps.append(
        NextStep(f"Every chart and every client of {run.name}:", f"fedkin report {shown(folder)}")
    )
    return steps


def _under_another_seed(
    run: ComparedRun, folder: Path, runs: Sequence[ComparedRun], baseline: Sequence[ComparedRun]
) -> list[NextStep]:
    """The run and its baseline under a fresh seed, until there are enough: pairs are of one."""
    seeds = {one.row["seed"] for one in runs}
    if len(seeds) >= ENOUGH:
        return []
    fresh = next(n for n in range(len(seeds) + 1) if n not in seeds)
    advice = f"So far {formatting.many(len(seeds), 'seed')}: {ENOUGH} show the spread."
    steps = [NextStep(advice, _again(folder, fresh))]
    base = next((one for one in baseline if one.folder and one.same_data(run)), None)
    if base and base.folder and all(one.row["seed"] != fresh for one in baseline):
        advice = f"{base.row['method']} under that seed, for without it no client has a pair:"
        steps.append(NextStep(advice, _again(base.folder, fresh)))
    return steps


def _again(folder: Path, seed: int) -> str:
    """The command that repeats a run under another seed."""
    target = shown(folder.parent / f"{folder.name}-seed{seed}")
    return f"fedkin run {shown(folder / SPEC)} --seed {seed} --out {target}"
