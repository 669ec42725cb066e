"""Privacy costs of the earlier runs of a deployment, from their records."""

from pathlib import Path

from fedkin.core.errors import FedkinError
from fedkin.report.privacy_costs import PrivacyCost, cost_of_record, costs_in_words, unreadable
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
        except (FedkinError, OSError):
            costs.append(unreadable(name))
            continue
        # each old one that somebody locks would be waited for, and the last may be at work
        cost = cost_of_record(name, out, None if name == names[-1] else LITTLE)
        costs += [] if cost is None else [cost]
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
