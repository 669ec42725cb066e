"""Experiments in the order of their scores, with ties."""

import math
from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

from fedkin.core.measures import comparable, measure_named
from fedkin.report import formatting
from fedkin.report.comparison.common_seeds import common_seeds
from fedkin.report.comparison.compare import Comparison
from fedkin.report.comparison.labels import labels
from fedkin.report.comparison.pairs import by_pair, by_share, shares, unequal, weights_by_pair
from fedkin.report.comparison.run_row import ComparedRun, by_experiment
from fedkin.report.comparison.sheet import TIES, Sheet
from fedkin.report.intervals import over_clients, over_seeds, ranks

COLUMNS = ["rank", "method", "setting", "mean", "95% over clients", "95% over seeds"]


def rank_table(comparison: Comparison) -> Sheet:
    """``ranked`` as text.

    Args:
        comparison: The runs and their numbers, as ``compare.comparison`` reads them.

    Returns:
        Without rows where fewer than two experiments compare.
    """
    rows, note = ranked(comparison)
    if not rows:
        return Sheet("", [], [], 0)
    shown = [[_place(row), row["method"], row["setting"], *_texts(row)] for row in rows]
    title = f"Ranks by final personal test {formatting.label(comparison.measure)}"
    return Sheet(title, COLUMNS, shown, 3, f"{TIES}{note}")


def ranked(comparison: Comparison) -> tuple[list[dict[str, Any]], str]:
    """(a row an experiment on the client data that most experiments have, from the best to the
    worst; a note on seeds).

    Those that cannot be distinguished share a rank, and stand in it in the order of their means.
    ``rank`` is None without a seed in common with the others: there is no pair to go by. ``low``,
    ``high``: the ends of the mean's 95 % interval over clients.

    Args:
        comparison: The runs and their numbers, as ``compare.comparison`` reads them.

    Returns:
        ([], "") where fewer than two experiments compare.
    """
    every = [
        group
        for group in by_experiment(comparison.seen)
        if group[0].personal and group[0].measure == comparison.measure
    ]
    label_of = dict(zip((id(group) for group in every), labels(every), strict=True))
    alike = [[other for other in every if other[0].same_data(one[0])] for one in every]
    groups = max(alike, key=len, default=[])
    if len(groups) < 2:
        return [], ""
    settings = [label_of[id(group)] for group in groups]
    groups, sure, note = common_seeds(groups)
    each = [by_pair((one, one.personal) for one in group) for group in groups]
    higher = measure_named(comparison.measure).higher
    among = [k for k, known in enumerate(sure) if known]
    numbers = [_numbers(group) for group in groups]
    means = [float(one["mean"]) for one in numbers]
    weights = unequal(weights_by_pair((one, _shares(one)) for k in among for one in groups[k]))
    shared = ranks([each[k] for k in among], higher, [means[k] for k in among], weights)
    places = dict(zip(among, shared, strict=True))
    scores = [mean * (-1 if higher else 1) for mean in means]
    order = sorted(range(len(groups)), key=lambda k: (places.get(k, (math.inf,))[0], scores[k]))
    rows = []
    for k in order:
        rank, tie = places.get(k, (None, False))
        of = {"method": groups[k][0].row["method"], "setting": settings[k]}
        rows.append({"rank": rank, "tie": tie, **of, **numbers[k]})
    return rows, note


def _numbers(group: Sequence[ComparedRun]) -> dict[str, Any]:
    """The mean over seeds of means over clients, and how sure it is."""
    known = [one for one in group if one.personal]
    values = by_share((one, one.personal, _shares(one)) for one in known)
    means = [fmean(one.personal.values()) for one in known]
    # every seed counts the same in the interval, as it does in the mean
    weights = unequal(shares((one, _shares(one)) for one in known))
    low, high = over_clients(values, group[0].measure, weights) or (None, None)
    lowest, highest = over_seeds(means, group[0].measure) or (None, None)
    return {
        "seeds": [one.row["seed"] for one in known],
        "measure": group[0].measure,
        "mean": comparable(fmean(means)),
        "low": low,
        "high": high,
        "low over seeds": lowest,
        "high over seeds": highest,
    }


def _shares(one: ComparedRun) -> dict[int, float]:
    """Of the run's mean, in which all its clients count the same."""
    return {client: 1 / len(one.personal) for client in one.personal}


def _place(row: Mapping[str, Any]) -> str:
    return formatting.NONE if row["rank"] is None else formatting.rank(row["rank"], row["tie"])


def _texts(row: Mapping[str, Any]) -> list[str]:
    measure, ends = row["measure"], ("", " over seeds")
    intervals = [_interval(measure, row[f"low{name}"], row[f"high{name}"]) for name in ends]
    return [formatting.value(measure, row["mean"]), *intervals]


def _interval(measure: str, low: float | None, high: float | None) -> str:
    return formatting.interval(measure, None if low is None or high is None else (low, high))
