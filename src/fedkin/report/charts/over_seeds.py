"""Experiments as means over their seeds: runs that differ in nothing else."""

from collections.abc import Mapping, Sequence
from statistics import fmean, stdev
from typing import Any

from fedkin.core.errors import some
from fedkin.report.charts.base import rounded
from fedkin.report.comparison.labels import labels
from fedkin.report.comparison.run_row import ComparedRun, by_experiment

MEANS, RUNS = "mean over seeds", "every run"  # what a chart shows, to choose from
NAMED = 3  # methods in a note
Row = dict[str, Any]


def experiments(seen: Sequence[ComparedRun]) -> dict[str, list[ComparedRun]]:
    """The finished runs by what a paper calls their experiment: the method, with its setting where
    there are several.

    Args:
        seen: Runs.

    Returns:
        {name: runs that differ in their seed only}, in the order of the first ones.
    """
    groups = by_experiment(seen)
    named = zip(groups, labels(groups), strict=True)
    return {
        ", ".join(part for part in (str(group[0].row["method"]), label) if part): group
        for group, label in named
    }


def mean_rows(
    rows: Sequence[Row], groups: Mapping[str, Sequence[ComparedRun]]
) -> tuple[list[Row], str]:
    """The lines of experiments: their means over seeds, at the rounds that all seeds evaluated.

    Args:
        rows: Of single runs, with "run", "round", "seconds", "finish" and "value".
        groups: As ``experiments`` gives them.

    Returns:
        (rows named after the experiments, with "low" and "high", one standard deviation from the
        mean, where there are several seeds; those of runs that are in no group, or have too few
        rounds in common, as they are; sentences on which rounds means are of).
    """
    by_run: dict[str, list[Row]] = {}
    for row in rows:
        by_run.setdefault(row["run"], []).append(row)
    found: list[Row] = []
    fewer, alone = [], []
    for name, group in groups.items():
        drawn = [by_run.pop(one.name) for one in group if one.name in by_run]
        lines = [_by_round(line) for line in drawn]
        common, most = _common(lines), max(map(len, lines), default=0)
        if len(lines) > 1 and len(common) < min(2, most):
            alone.append(name)
            found += [{**row, "like": name} for line in drawn for row in line]
            continue
        if any(len(line) != len(common) for line in lines):
            fewer.append(f"{name} {len(common)} of {most}")
        found += [_mean(name, [line[at] for line in lines]) for at in common]
    found += [row for line in by_run.values() for row in line]
    note = ""
    if fewer:
        note += f" Means are of the rounds that all seeds evaluated: {some(fewer, NAMED)}."
    if alone:
        note += f" Seed by seed, for want of such rounds: {some(alone, NAMED)}."
    return found, note


def spread(values: Sequence[float]) -> Row:
    """The mean of several seeds, and one sample standard deviation (n − 1) below and above it.

    Args:
        values: One a seed.

    Returns:
        {"value", "seeds"}, and "low" and "high" of more than one.
    """
    mean = fmean(values)
    row: Row = {"value": rounded(mean), "seeds": len(values)}
    if len(values) > 1:
        row |= {"low": rounded(mean - stdev(values)), "high": rounded(mean + stdev(values))}
    return row


def _mean(name: str, rows: Sequence[Row]) -> Row:
    """One round of an experiment."""
    seconds = round(fmean(row["seconds"] for row in rows), 3)
    of_seeds = spread([row["value"] for row in rows])
    return {**rows[0], "run": name, "like": name, "seconds": seconds, **of_seeds}


def _common(lines: Sequence[Mapping[tuple[int, bool], Row]]) -> list[tuple[int, bool]]:
    """The rounds that all have: (round, whether it is the finish)."""
    if not lines:
        return []
    return sorted(set.intersection(*(set(line) for line in lines)))


def _by_round(line: Sequence[Row]) -> dict[tuple[int, bool], Row]:
    return {(row["round"], row["finish"]): row for row in line}
