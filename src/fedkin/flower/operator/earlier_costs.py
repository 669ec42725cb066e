"""Privacy costs of the earlier runs of a deployment, from their records."""

from pathlib import Path
from typing import Any

from fedkin.core.errors import FedkinError
from fedkin.flower.privacy_costs import PrivacyCost, costs_in_words, total_cost, unreadable
from fedkin.runs.database import read_only
from fedkin.runs.directory import recorded
from fedkin.runs.spec import Spec

LITTLE = 0.2  # seconds for who holds the record of an old run: a run at work lets go sooner


def costs_of_runs(folder: Path) -> list[PrivacyCost]:
    """The runs with noise that began in a deployment, in order.

    Args:
        folder: The deployment's.

    Returns:
        Each with the ε of all rounds that it was to have, or had; one whose record is damaged or
        locked is among them, for it may have had noise. Nodes may have been in runs of other
        deployments, too.
    """
    names = [path.name for path in (folder / "runs").glob("*") if path.name.isdecimal()]
    costs = []
    names = sorted(names, key=int)
    for name in names:
        try:
            if not recorded(out := folder / "runs" / name):
                continue
            # each old one that somebody locks would be waited for, and the last may be at work
            with read_only(out, None if name == names[-1] else LITTLE) as database:
                facts = database.facts().get("privacy")
        except (FedkinError, OSError):  # no old run keeps a new one from its start
            costs.append(unreadable(name))
            continue
        if facts:
            costs.append(_of(name, facts))
    return costs


def earlier_costs(folder: Path, spec: Spec) -> str:
    """What a run with noise is told before it begins.

    Args:
        folder: The deployment's.
        spec: The experiment.

    Returns:
        A sentence; "" where it adds to no other run.
    """
    runs = costs_of_runs(folder) if spec.privacy.on else []
    return f"the epsilon of this run is added to that of {costs_in_words(runs)}" if runs else ""


def costs_as_json(runs: list[PrivacyCost]) -> dict[str, Any] | None:
    """The same for ``fedkin deploy status --json``.

    Args:
        runs: With noise.

    Returns:
        None where there are none.
    """
    if not runs:
        return None
    epsilon, delta = total_cost(runs)
    each = [{"run": one.run, "epsilon": one.epsilon, "delta": one.delta} for one in runs]
    return {"runs": each, "epsilon": epsilon, "delta": delta}


def _of(name: str, facts: dict[str, Any]) -> PrivacyCost:
    """Noise of the seed, which anybody may know, gives no ε."""
    epsilon, delta, rounds = facts.get("epsilon"), facts.get("delta"), facts.get("rounds")
    if not (_perhaps_number(epsilon) and _perhaps_number(delta) and isinstance(rounds, int)):
        return unreadable(name)
    return PrivacyCost(
        name, None if facts.get("seeded") else epsilon, delta, str(facts.get("noise")), rounds
    )


def _perhaps_number(value: object) -> bool:
    return value is None or isinstance(value, int | float)
