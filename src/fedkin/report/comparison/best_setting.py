"""Of several hyper-parameter settings of a method the one that is best on validation data; test
data are not asked.
"""

import math
from collections.abc import Sequence
from typing import Any

from fedkin.core.measures import measure_named
from fedkin.report.comparison.labels import labels
from fedkin.report.comparison.persons import by_person
from fedkin.report.comparison.run_row import Seen, by_experiment
from fedkin.report.intervals import ranks

COLUMNS = ["method", "setting", "seeds", "measure", "validation", "chosen", "rank", "tie"]


def best(seen: Sequence[Seen]) -> tuple[list[Seen], list[dict[str, Any]], list[str]]:
    """(the runs that stay, one row a setting that was in the choice, warnings).

    A choice is among finished experiments of one method on the same data that differ in
    hyper-parameters ([method] and [train]) only, by the mean over the seeds that all of them have.
    Unfinished and damaged runs stay: they are shown.
    """
    groups = by_experiment(seen)
    label_of = dict(zip((group[0].experiment for group in groups), labels(groups), strict=True))
    rows: list[dict[str, Any]] = []
    warnings: list[str] = []
    dropped: set[str] = set()
    every = rivalries(groups)
    if not every:
        warnings.append(
            "--best: there is nothing to choose, for no two settings of a method differ in "
            "[method] and [train] alone"
        )
    for rivals in every:
        method, measure = rivals[0][0].row["method"], rivals[0][0].measure
        common = set.intersection(*({one.row["seed"] for one in group} for group in rivals))
        values = [
            _mean([one.validation for one in group if one.row["seed"] in common])
            for group in rivals
        ]
        finite = [value for value in values if value is not None and math.isfinite(value)]
        if None in values or not finite:
            lacking = (
                "a setting has no validation score"
                if None in values
                else "clients diverged under every one"
            )
            why = lacking if common else "they have no seed in common"
            warnings.append(f"{method}: no setting is chosen, for {why}")
            continue
        higher = measure_named(measure).higher
        winner = values.index(max(finite) if higher else min(finite))
        shared = ranks(
            [_paired(group, common) for group in rivals],
            higher,
            [value for value in values if value is not None],
            _weights(rivals, common),
        )
        for number, (group, value) in enumerate(zip(rivals, values, strict=True)):
            if number != winner:
                dropped.add(group[0].experiment)
            row = {
                "method": method,
                "setting": label_of[group[0].experiment],
                "seeds": sorted(common, key=str),
            }
            shown = value if value in finite else None
            rank, tie = shared[number]
            rows.append(
                row
                | {
                    "measure": measure,
                    "validation": shown,
                    "chosen": number == winner,
                    "rank": rank,
                    "tie": tie,
                }
            )
    return (
        [one for one in seen if not one.finished or one.experiment not in dropped],
        rows,
        warnings,
    )


def rivalries(groups: Sequence[list[Seen]]) -> list[list[list[Seen]]]:
    """The experiments among which validation data can choose: each with those that differ from it
    in hyper-parameters only.
    """
    families: dict[str, list[list[Seen]]] = {}
    for group in groups:
        families.setdefault(group[0].family, []).append(group)
    return [rivals for rivals in families.values() if len(rivals) > 1]


def _paired(group: Sequence[Seen], seeds: set[Any]) -> dict[object, float]:
    """{who: validation score} of one setting."""
    return by_person((one, one.validated) for one in group if one.row["seed"] in seeds)


def _weights(rivals: Sequence[Sequence[Seen]], seeds: set[Any]) -> dict[object, float]:
    """{who: its share of a seed's validation samples}: a choice is by the mean over
    seeds of means over samples, and ranks are of the same number.
    """
    return by_person(
        (one, {k: size / sum(one.samples.values()) for k, size in one.samples.items()})
        for group in rivals
        for one in group
        if one.row["seed"] in seeds
    )


def _mean(values: Sequence[float | None]) -> float | None:
    """Rounded, so that equal ones are equal whatever the order of their sum; then the first setting
    given has it.
    """
    known = [value for value in values if value is not None]
    return round(sum(known) / len(known), 12) if known and len(known) == len(values) else None
