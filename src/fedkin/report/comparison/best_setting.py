"""Of several hyper-parameter settings of a method the one that is best on validation data; test
data are not asked.
"""

import math
from collections.abc import Sequence
from typing import Any

from fedkin.core.measures import comparable, measure_named
from fedkin.report.comparison.labels import labels
from fedkin.report.comparison.pairs import by_pair, weights_by_pair
from fedkin.report.comparison.run_row import ComparedRun, by_experiment
from fedkin.report.intervals import ranks

COLUMNS = ["method", "setting", "seeds", "measure", "validation", "chosen", "rank", "tie"]


def best(seen: Sequence[ComparedRun]) -> tuple[list[ComparedRun], list[dict[str, Any]], list[str]]:
    """(the runs that stay, one row a setting that was in the choice, warnings).

    A choice is among finished experiments of one method on the same data that differ in
    hyper-parameters ([method] and [train]) only, by the mean over the seeds that all of them have.
    Unfinished and damaged runs stay: they are shown.

    Args:
        seen: The runs.

    Returns:
        Rows have COLUMNS.
    """
    groups = by_experiment(seen)
    label_of = dict(zip((group[0].experiment for group in groups), labels(groups), strict=True))
    every = comparable_groups(groups)
    if not every:
        nothing = (
            "--best: there is nothing to choose, for no two settings of a method differ in "
            "[method] and [train] alone"
        )
        return list(seen), [], [nothing]
    rows: list[dict[str, Any]] = []
    warnings: list[str] = []
    dropped: set[str] = set()
    for rivals in every:
        common = set.intersection(*({one.row["seed"] for one in group} for group in rivals))
        values = [
            _mean([one.validation for one in group if one.row["seed"] in common])
            for group in rivals
        ]
        why = _undecided(common, values)
        if why:
            method = rivals[0][0].row["method"]
            warnings.append(f"{method}: no setting is chosen, for {why}")
            continue
        scored = [value for value in values if value is not None]
        names = [label_of[group[0].experiment] for group in rivals]
        of_rivals = _rows(rivals, names, common, scored)
        for group, row in zip(rivals, of_rivals, strict=True):
            if not row["chosen"]:
                dropped.add(group[0].experiment)
        rows += of_rivals
    stay = [one for one in seen if not one.finished or one.experiment not in dropped]
    return stay, rows, warnings


def comparable_groups(groups: Sequence[list[ComparedRun]]) -> list[list[list[ComparedRun]]]:
    """The experiments among which validation data can choose: each with those that differ from it
    in hyper-parameters only.

    Args:
        groups: Runs by experiment.

    Returns:
        Lists of at least two experiments.
    """
    families: dict[str, list[list[ComparedRun]]] = {}
    for group in groups:
        families.setdefault(group[0].family, []).append(group)
    return [rivals for rivals in families.values() if len(rivals) > 1]


def _undecided(seeds: set[Any], values: Sequence[float | None]) -> str:
    """Why validation data choose none of the settings that have these values; else ""."""
    if not seeds:
        return "they have no seed in common"
    if None in values:
        return "a setting has no validation score"
    if not any(math.isfinite(value) for value in values if value is not None):
        return "clients diverged under every one"
    return ""


def _rows(
    rivals: Sequence[Sequence[ComparedRun]],
    names: Sequence[str],
    seeds: set[Any],
    values: Sequence[float],
) -> list[dict[str, Any]]:
    """One row a setting, of COLUMNS, from its mean over the seeds. The first of the best finite
    means is chosen.
    """
    measure = rivals[0][0].measure
    higher = measure_named(measure).higher
    finite = [value for value in values if math.isfinite(value)]
    winner = values.index(max(finite) if higher else min(finite))
    common = [[one for one in group if one.row["seed"] in seeds] for group in rivals]
    each = [by_pair((one, one.validated) for one in group) for group in common]
    weights = weights_by_pair((one, _shares(one)) for group in common for one in group)
    shared = ranks(each, higher, values, weights)
    return [
        {
            "method": rivals[0][0].row["method"],
            "setting": name,
            "seeds": sorted(seeds, key=str),
            "measure": measure,
            "validation": value if math.isfinite(value) else None,
            "chosen": number == winner,
            "rank": rank,
            "tie": tie,
        }
        for number, (name, value, (rank, tie)) in enumerate(zip(names, values, shared, strict=True))
    ]


def _shares(one: ComparedRun) -> dict[int, float]:
    """{client: its share of the validation samples} of those that have a score."""
    whole = sum(one.samples[k] for k in one.validated)
    return {k: one.samples[k] / whole for k in one.validated}


def _mean(values: Sequence[float | None]) -> float | None:
    """As it is compared: of equal means the first setting given has it."""
    known = [value for value in values if value is not None]
    return comparable(sum(known) / len(known)) if known and len(known) == len(values) else None
