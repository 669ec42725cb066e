"""Runs of one experiment with one seed: a folder that is given twice, and runs that repeat each
other.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fedkin.core.errors import some
from fedkin.report.comparison.run_row import ComparedRun


def each_folder_once(folders: Sequence[Path]) -> list[Path]:
    """The folders without those that are the same one under another path, or through a link.

    Args:
        folders: Run directories.

    Returns:
        Each under its first path, in their order.
    """
    first: dict[Path, Path] = {}
    for folder in folders:
        first.setdefault(Path(folder).resolve(), Path(folder))
    return list(first.values())


def each_run_once(
    seen: Sequence[ComparedRun], named: str | None
) -> tuple[list[ComparedRun], list[str]]:
    """The runs without repeats. A repeat has the experiment, the seed and, bit by bit, the models
    of another run under the same engine: two searches that tried the same setting have one.

    Args:
        seen: Runs.
        named: A run's name, which stays; None: of repeats the first one does.

    Returns:
        (the runs that stay, a sentence for each experiment and seed that several runs have).
    """
    groups: dict[tuple[str, Any], list[ComparedRun]] = {}
    for one in seen:
        if one.finished:
            groups.setdefault((one.experiment, one.row["seed"]), []).append(one)
    left_out: set[str] = set()
    sentences = []
    for group in groups.values():
        if len(group) > 1:
            sentences.append(_told(group))
            left_out |= _repeats(group, named)
    return [one for one in seen if one.name not in left_out], sentences


def _repeats(group: Sequence[ComparedRun], named: str | None) -> set[str]:
    """Names of the runs that another one of the group stands for."""
    kept: dict[Any, str] = {}
    for one in sorted(group, key=lambda one: one.name != named):
        kept.setdefault(_bits(one) if one.fingerprint else one.name, one.name)
    return {one.name for one in group} - set(kept.values())


def _told(group: Sequence[ComparedRun]) -> str:
    marks = {one.fingerprint for one in group}
    results = {_bits(one) for one in group}
    which = f"the same experiment with the same seed: {some([one.name for one in group], 3)}"
    if "" in marks:
        return f"{which}; counted once over seeds"
    if len(results) == 1:
        return f"{which}; their models agree, bit by bit, so one of them is shown"
    differ = f", and their fingerprints differ ({len(marks)} of {len(group)} runs)"
    return f"{which}; counted once over seeds{differ if len(marks) > 1 else ''}"


def _bits(one: ComparedRun) -> tuple[Any, ...]:
    """What runs have in common that did the same, the same way: the models, the data, the scores,
    and the engine, whose seconds one may want to compare.
    """
    digest = one.setting.digest if one.setting is not None else None
    scores = tuple(sorted(one.personal.items()))
    return one.fingerprint, digest, scores, tuple(one.said), one.engine
