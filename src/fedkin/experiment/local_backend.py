"""This machine as the place of a run's clients: hosts in its process, in worker processes, or as
actors of Ray.
"""

import contextlib
import logging
import shutil
from collections.abc import Iterator
from pathlib import Path

from fedkin.core.errors import Halted, reason
from fedkin.core.system.posix import HANDS_OVER, cores
from fedkin.core.system.scratch import scratch
from fedkin.data.contiguous import save_side_by_side
from fedkin.engine.transports.base import InProcess, Transport
from fedkin.engine.transports.placement import Placing
from fedkin.engine.transports.processes import Processes
from fedkin.engine.transports.ray import Actors
from fedkin.runs.directory import path_in_run
from fedkin.runs.spec import EngineSection
from fedkin.setup.build import Assembled
from fedkin.setup.frozen import save_frozen, size_of
from fedkin.setup.hosts import host_from_setup, host_of, replays_of, setup_of

__all__ = [
    "hosts",
]

LOG = logging.getLogger("fedkin")

# Samples × parameters of all training steps. Starting workers takes some 3 s, in which one process
# makes about 1e9 of a dense model's (counted, never timed, so that every machine decides alike).
WORTH_WORKERS = 1_000_000_000


@contextlib.contextmanager
def hosts(parts: Assembled, folder: Path) -> Iterator[Transport]:
    """All clients, as [engine] says, for as long as the context is open.

    Args:
        parts: The run.
        folder: The run's; hosts keep states there while it goes on, if on disk.

    Yields:
        What reaches all of the clients.
    """
    engine, everyone = parts.spec.engine, sorted(parts.infos)
    state = path_in_run(folder, "state")
    shutil.rmtree(state, ignore_errors=True)  # a killed run's, ahead of its last commit
    usual = cores() if engine.device == "cpu" else 1  # a GPU serves one process best
    workers = min(engine.workers or usual, len(everyone))
    with contextlib.ExitStack() as stack:
        stack.callback(shutil.rmtree, state, ignore_errors=True)
        if engine.name == "inprocess" or _too_small_for_workers(parts) or _no_workers(engine):
            LOG.debug("engine inprocess: one process does the work")
            transport: Transport = InProcess(host_of(parts, everyone, state, partial_sums=True))
        else:
            shared = stack.enter_context(scratch())
            _share(parts, shared)
            placing = Placing(parts.infos, workers, engine.name == "processes" and _roaming(parts))
            setups = [
                {
                    **setup_of(parts.spec, shared, placing.known(worker), state),
                    "secret": _own_noise(parts),
                }
                for worker in range(workers)
            ]
            LOG.debug("engine %s: %d workers", engine.name, workers)
            if engine.name == "ray":
                transport = Actors(host_from_setup, setups, placing.homes, shared)
            else:
                transport = Processes("fedkin.experiment.worker", setups, placing)
        stack.callback(transport.close)
        yield transport


def _no_workers(engine: EngineSection) -> bool:
    """Whether worker processes are asked for where they cannot be: results are the same to the
    bit.
    """
    if engine.name != "processes" or HANDS_OVER:
        return False
    if "name" in engine.model_fields_set:
        LOG.warning("this system has no worker processes for fedkin: one process does the work")
    return True


def _own_noise(parts: Assembled) -> tuple[str, bool] | None:
    """The secret of clients that add noise themselves: its key, and whether it is seeded."""
    secret = parts.federation.secret
    if secret is None or not parts.spec.privacy.at_client:
        return None
    return secret.key.hex(), secret.seeded


def _too_small_for_workers(parts: Assembled) -> bool:
    """Whether nobody asked for workers, and all steps together take less than starting them does;
    results are the same to the bit.
    """
    if {"name", "workers"} & parts.spec.engine.model_fields_set:
        return False
    largest = max(size_of({**model.initial, **model.frozen}) for model in parts.models.values())
    learners = any(model.learner is not None for model in parts.models.values())
    work = replays_of(parts) * parts.spec.train.batch_size * largest
    return not learners and work < WORTH_WORKERS


def _roaming(parts: Assembled) -> bool:
    """Whether any worker may work for a client: it begins with no personal state, and nothing of a
    round waits in its worker to be masked.
    """
    return parts.federation.threshold is None and not any(
        parts.method.client(parts.models[info.architecture].initial, info)
        for info in parts.infos.values()
    )


def _share(parts: Assembled, folder: Path) -> None:
    """The samples and the frozen parameters, for worker processes to map into their memory."""
    try:
        if parts.method.needs.pooled:  # it draws from everybody's samples, in the order they have
            parts.population.save(folder)
        else:
            save_side_by_side(parts.population, folder)
        save_frozen(parts.models, folder)
    except OSError as error:
        raise Halted(
            f"{folder.parent} cannot hold the samples for worker processes: {reason(error)}: name "
            "another folder with TMPDIR"
        ) from None
