"""The hosts of a run: in this process, or in a worker from what it is sent."""

import math
from pathlib import Path
from typing import Any

from fedkin.core.aggregation import EachClient
from fedkin.data.population import Population
from fedkin.engine.host import Host, Resources
from fedkin.engine.masking import Protection
from fedkin.engine.partial_sums import PartialSums
from fedkin.engine.round.federation import participants_of
from fedkin.engine.store import STORES
from fedkin.engine.vmap.block_size import block_of
from fedkin.runs.spec import Spec
from fedkin.setup.build import (
    Assembled,
    assemble_with_population,
    models_on_device,
    runtime_of,
    schedule_of,
)
from fedkin.setup.frozen import map_frozen
from fedkin.setup.method_transforms import with_given_secret
from fedkin.setup.secure_aggregation import masking_of
from fedkin.setup.user_code import permit

__all__ = ["host_from_setup", "host_of", "replays_of", "setup_of"]


def host_of(parts: Assembled, clients: list[int], folder: Path, partial_sums: bool = False) -> Host:
    """A host that owns some of a run's clients.

    Args:
        parts: The run.
        clients: Their numbers.
        folder: Where it may keep states on disk.
        partial_sums: Whether messages of a round may stay in the host, for a method that needs
            nothing but sums.

    Returns:
        The host, with no state of a client yet.
    """
    spec, federation = parts.spec, parts.federation
    resources = Resources(
        runtime=runtime_of(spec, replays_of(parts)),
        store=STORES[spec.engine.state](folder),
        block=spec.engine.block or block_of(spec.engine.device, parts.models),
        partial_sums=partial_sums_of(parts, folder) if partial_sums else None,
    )
    protection = Protection(
        secret=federation.secret if spec.privacy.at_client else None,
        masking=masking_of(spec, parts.method, federation.threshold, len(federation.infos)),
        train_scores=not spec.privacy.at_client,
    )
    return Host(
        method=parts.method,
        models=models_on_device(spec, parts.models),
        infos={client: parts.infos[client] for client in clients},
        population=parts.population,
        schedule=schedule_of(spec),
        resources=resources,
        seed=spec.run.seed,
        measure=spec.run.measure,
        protection=protection,
    )


def partial_sums_of(parts: Assembled, folder: Path) -> PartialSums | None:
    """Where messages of rounds stay, for a method that needs nothing but sums; None else.

    Args:
        parts: The run.
        folder: Where a host may keep states on disk.

    Returns:
        Where they stay, or None.
    """
    how = parts.method.aggregation
    if parts.federation.masked or isinstance(how, EachClient) or not how.anywhere:
        return None
    return PartialSums(how, folder if parts.spec.engine.state == "disk" else None)


def replays_of(parts: Assembled) -> int:
    """How many steps the whole run takes, over all clients: decides whether compiling pays.

    Args:
        parts: The run.

    Returns:
        A number from 0; of the planned rounds and clients as they are drawn on average.
    """
    spec, infos = parts.spec, parts.infos
    share = participants_of(parts.federation) / len(infos)
    if parts.method.needs.pooled and spec.train.steps is None:
        share = 1.0  # its epochs are over everybody's samples
    if spec.train.steps is not None:
        a_round = spec.train.steps * len(infos)
    else:
        a_round = (spec.train.epochs or 1) * sum(
            math.ceil(i.samples / spec.train.batch_size) for i in infos.values()
        )
    return round(spec.run.rounds * share * a_round)


def setup_of(
    spec: Spec, population_folder: Path, clients: list[int], state_folder: Path
) -> dict[str, Any]:
    """What a worker process is sent: names and numbers only.

    Args:
        spec: The specification.
        population_folder: Where the population is saved, for all workers.
        clients: The numbers of this worker's clients.
        state_folder: Where it may keep states on disk.

    Returns:
        Plain values, as ``host_from_setup`` takes them.
    """
    return {
        "spec": spec.model_dump(mode="json"),
        "population": str(population_folder),
        "clients": clients,
        "state": str(state_folder),
    }


def host_from_setup(setup: dict[str, Any]) -> Host:
    """A worker's host, from what ``setup_of`` sent.

    Args:
        setup: What ``setup_of`` returns; "secret" beside it where clients add noise themselves.

    Returns:
        The host of that worker's clients.
    """
    spec = Spec.model_validate(setup["spec"])
    permit(spec)  # as who started this worker was
    shared = Path(setup["population"])
    parts = assemble_with_population(spec, None, Population.load(shared))
    map_frozen(parts.models, shared)
    parts = parts._replace(federation=with_given_secret(parts.federation, setup.get("secret")))
    return host_of(parts, setup["clients"], Path(setup["state"]), partial_sums=True)
