"""What came of a row of a preset."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from fedkin.reproduce.estimate import Estimate
from fedkin.reproduce.finished_rows import FinishedRun
from fedkin.reproduce.measures import OVER_SEEDS
from fedkin.reproduce.preset import Row


class Outcome(NamedTuple):
    """``numbers``: by measure, one a seed. ``missing``: why the row was not run. ``seconds``: of
    the processor, all seeds, those of earlier sessions too; None where that was not kept.
    ``estimated``: the same, known before. ``runs``: the finished ones, for others to take.
    ``taken``: the seeds that are from elsewhere. ``over_seeds``: numbers of all seeds together,
    where those of the clients are known of all runs. ``apart``: runs made here that a CSV tells
    with another fingerprint.
    """

    row: Row
    seeds: list[int]
    numbers: dict[str, list[float]]
    seconds: float | None
    folders: list[Path]
    missing: str = ""
    estimated: Estimate = Estimate(0.0)
    command: str = ""
    runs: tuple[FinishedRun, ...] = ()
    taken: tuple[int, ...] = ()
    over_seeds: Mapping[str, float | None] = {}
    apart: tuple[FinishedRun, ...] = ()


def single(row: Row) -> list[str]:
    """The measures of a row that each run has by itself.

    Args:
        row: Of a preset.

    Returns:
        Keys of MEASURES.
    """
    return [value.measure for value in row.values if value.measure not in OVER_SEEDS]


def over_seeds(row: Row, runs: Sequence[FinishedRun]) -> dict[str, float | None]:
    """The measures of a row that are of the runs of all seeds together.

    Args:
        row: Of a preset.
        runs: Finished runs, one a seed.

    Returns:
        By key of OVER_SEEDS; None where a run tells nothing of its clients.
    """
    wanted = [value.measure for value in row.values if value.measure in OVER_SEEDS]
    return {name: OVER_SEEDS[name][1]([run.numbers for run in runs]) for name in wanted}


def joined(row: Row, runs: Sequence[FinishedRun]) -> Outcome:
    """Finished runs of other machines as an outcome.

    Args:
        row: Of a preset.
        runs: One a seed; perhaps none.

    Returns:
        Their numbers.
    """
    names = single(row)
    numbers = {
        name: [v for run in runs if (v := run.numbers.get(name)) is not None] for name in names
    }
    seconds = [run.seconds for run in runs if run.seconds is not None]
    spent = sum(seconds) if len(seconds) == len(runs) else None
    seeds = [run.seed for run in runs]
    all_seeds = over_seeds(row, runs)
    return Outcome(
        row, seeds, numbers, spent, [], runs=tuple(runs), taken=tuple(seeds), over_seeds=all_seeds
    )


def merged(elsewhere: Outcome, here: Outcome) -> Outcome:
    """The outcome of a row of which some seeds are from elsewhere.

    Args:
        elsewhere: Those.
        here: The others.

    Returns:
        All of them, in the order of seeds.
    """
    if not elsewhere.seeds:
        return here
    spent = (
        None
        if elsewhere.seconds is None or here.seconds is None
        else elsewhere.seconds + here.seconds
    )
    runs = tuple(sorted([*elsewhere.runs, *here.runs], key=lambda run: run.seed))
    return here._replace(
        seeds=sorted([*elsewhere.seeds, *here.seeds]),
        numbers={
            name: [*elsewhere.numbers[name], *values] for name, values in here.numbers.items()
        },
        seconds=spent,
        runs=runs,
        taken=elsewhere.taken,
        over_seeds=over_seeds(here.row, runs),
    )


def mean(values: Sequence[float]) -> float | None:
    """The plain mean.

    Args:
        values: Any number of numbers.

    Returns:
        None of nothing.
    """
    return float(np.mean(values)) if len(values) else None
