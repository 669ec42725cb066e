"""What a run of a deployment began with: who goes on with it, or joins it, has the same."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from fedkin.core.errors import FedkinError, some
from fedkin.flower.config import DEPLOYMENT, EXPERIMENT
from fedkin.runs.database import read_only
from fedkin.runs.directory import SPEC, recorded
from fedkin.runs.spec import read

FINGERPRINT = "experiment"  # among a run's facts: of the experiment.toml that it began with
RUN = "deployment"  # and the name under which nodes know it


def facts_at(out: Path) -> Mapping[str, Any]:
    """What a run noted when it began.

    Args:
        out: The run directory; one that was killed early has no record yet, and nothing of it was
            trained.

    Returns:
        The facts of its record, or what stands beside its specification.
    """
    if recorded(out):
        with read_only(out) as database:
            return database.facts()
    facts: Mapping[str, Any] = read(out / SPEC)[0].get("record", {})
    return facts


def check_experiment(facts: Mapping[str, Any], experiment: str, out: Path, instead: str) -> None:
    """Refuse a run that began with another experiment than lies in the deployment's folder now.

    Args:
        facts: Of the run.
        experiment: Fingerprint of the file as it is.
        out: The run directory, for the sentence.
        instead: What the operator may do beside putting it back.

    Raises:
        FedkinError: It is another one.
    """
    if facts.get(FINGERPRINT, experiment) != experiment:
        raise FedkinError(
            f"{EXPERIMENT} is not what run {out.name} began with: put it back, or {instead}"
        )


def check_clients(known: Iterable[str], clients: tuple[str, ...], out: Path) -> None:
    """Refuse a run whose clients were others, or stood in another order.

    Args:
        known: Those that it began with.
        clients: Those of deployment.toml.
        out: The run directory, for the sentence.

    Raises:
        FedkinError: They differ; names one that the run did not have, or their order.
    """
    before = tuple(known)
    if before == clients:
        return
    strangers = [name for name in clients if name not in before]
    what = f"{strangers[0]} was not in run {out.name}" if strangers else "clients changed"
    raise FedkinError(
        f"{DEPLOYMENT}: {what}: put clients back ({some(before, 20)}), or begin another run"
    )
