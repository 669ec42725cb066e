"""What a study found, as plain values."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fedkin.core.errors import FedkinError
from fedkin.core.measures import comparable
from fedkin.report.privacy_costs import PrivacyCost, cost_of_record, costs_as_json
from fedkin.runs.directory import recorded
from fedkin.runs.output_files import STUDY
from fedkin.sweep.edges import edges
from fedkin.sweep.score import LEFT, lost, places, scored
from fedkin.sweep.study_file import believed


def outcome(study: Any, out: Path, costs: Sequence[PrivacyCost]) -> dict[str, Any]:
    """What ``fedkin sweep --json`` prints.

    Args:
        study: Optuna's, as ``sweep`` gives it.
        out: The folder of its runs.
        costs: What the noise of its trials has cost, as ``costs_of_trials`` reads it.

    Returns:
        {"best": a trial, "trials": all with a value, best first, "lost": those without one, with
        the reason, "running": how many are under way, "privacy": what all of them cost together
        where they have noise, else None, "edges": the keys whose best value is the smallest or the
        largest of its list, {"key", "value", "end"}}. "rounds" is how many a trial was trained:
        [privacy] budget and [run] patience may end it before the last one. A trial whose finished
        model has no scores says so as "unscored": its value is of an earlier round.

    Raises:
        FedkinError: No trial has a value, or the study holds what fedkin did not write.
    """
    with believed(out / STUDY):
        return _outcome(study, out, costs)


def _outcome(study: Any, out: Path, costs: Sequence[PrivacyCost]) -> dict[str, Any]:
    done = sorted(
        (t for t in study.trials if t.value is not None),
        key=lambda t: (-comparable(t.value), t.number),
    )
    known = [(t, one) for t in done if (one := scored(study, t)) is not None]
    shared = places([one for _, one in known])
    trials = [
        {"validation": one.value, "measure": one.measure, "rank": rank, "tie": tie}
        | {**t.params, "run": str(_run_of(t, out))}
        | ({} if one.rounds is None else {"rounds": one.rounds})
        | ({"unscored": one.unscored} if one.unscored else {})
        for (t, one), (rank, tie) in zip(known, shared, strict=True)
    ]
    reasons = lost(study)
    without = [
        {**t.params, "run": str(_run_of(t, out)), "lost": why}
        for t in study.trials
        if (why := reasons.get(t.number))
    ]
    if not trials:
        raise FedkinError(
            f"no trial has a value: {without[0]['lost']}" if without else "no trial is done yet"
        )
    # one without a folder was left between two steps of its claim: nobody works on it, ever
    claimed = [t for t in study.trials if "folder" in t.user_attrs]
    running = sum(t.state.name == "RUNNING" for t in claimed)
    first = [t for (t, _), (rank, _) in zip(known, shared, strict=True) if rank == 1]
    lists = {
        key: known_values.choices
        for key, known_values in first[0].distributions.items()
        if hasattr(known_values, "choices")  # a range has none
    }
    return {
        "best": trials[0],
        "trials": trials,
        "lost": without,
        "running": running,
        "privacy": costs_as_json(costs),
        "edges": [edge._asdict() for edge in edges(lists, [t.params for t in first])],
    }


def costs_of_trials(study: Any, out: Path) -> list[PrivacyCost]:
    """What the trials' noise has cost: each was trained on the same data.

    Args:
        study: Optuna's, as ``sweep`` gives it.
        out: The folder of its runs.

    Returns:
        A run each, also of trials without a value and of those that began anew; [] where they have
        no noise.

    Raises:
        FedkinError: The study holds what fedkin did not write.
    """
    with believed(out / STUDY):
        begun = [t.user_attrs for t in study.trials if "folder" in t.user_attrs]
        names = [name for known in begun for name in (*known.get(LEFT, ()), known["folder"])]
        folders = [_within(out, name) for name in names]
    costs = [cost_of_record(one.name, one) for one in folders if recorded(one)]
    return [cost for cost in costs if cost is not None]


def _run_of(trial: Any, out: Path) -> Path:
    return _within(out, trial.user_attrs["folder"])


def _within(out: Path, name: Any) -> Path:
    """A run directory of the sweep; what lies elsewhere is none of its trials."""
    if name == ".." or Path(name).name != name:
        raise ValueError(f"a trial's folder {str(name)[:80]!r}")
    return out / str(name)
