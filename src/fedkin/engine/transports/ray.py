"""Hosts as actors of a Ray cluster, one core each (extra ``ray``).

What crosses is plain values and codec bytes.
"""

import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import torch

from fedkin.core.errors import FedkinError
from fedkin.core.files import write_file
from fedkin.core.sums.exact import ExactSum, unpacked
from fedkin.engine.codec import decode
from fedkin.engine.host import Host
from fedkin.engine.op import Op, Task, TaskResult
from fedkin.engine.transports.failures import LostWorker, error_from, error_header
from fedkin.engine.transports.parcels import Row, pack, results, rows_of, task_of
from fedkin.engine.transports.placement import clients_by_worker, tasks_by_worker
from fedkin.engine.transports.serving import sum_at

PATIENCE = 20.0  # seconds for cores that others keep
START = 600.0  # seconds for all actors to have their data
ENDING = 5.0  # seconds for them to remove their files
Build = Callable[[dict[str, Any]], Host]


class Actor:
    """One host, in a process of the cluster.

    It has a folder of its own: no file system need be shared.
    """

    def __init__(self) -> None:
        torch.set_num_threads(1)
        self._home = tempfile.TemporaryDirectory(prefix="fedkin-")
        self._folder = Path(self._home.name)
        self._host: Host | None = None

    def call(self, name: str, *arguments: Any) -> dict[str, Any]:
        """One of the calls below; a mistake comes back as a sentence, since Ray would send its
        traceback.

        Args:
            name: A key of CALLS.
            arguments: What it takes.

        Returns:
            {"result": …}, or what ``error_header`` makes of the mistake.
        """
        try:
            return {"result": CALLS[name](self, *arguments)}
        except (FedkinError, OSError) as error:
            return error_header(error)

    @property
    def host(self) -> Host:
        """The host, once ``build`` has made it."""
        assert self._host is not None
        return self._host

    def build(self, build: Build, setup: dict[str, Any], files: dict[str, bytes]) -> None:
        """The host, on a copy of the population.

        Args:
            build: Setup → host.
            setup: What JSON can hold.
            files: Name → content, of a saved population.
        """
        population = self._folder / "population"
        population.mkdir()
        for name, content in files.items():
            (population / name).write_bytes(content)
        self._host = build(
            {**setup, "population": str(population), "state": str(self._folder / "state")}
        )
        # samples are mapped: without their names they go with the process, however it ends
        shutil.rmtree(population)

    def end(self) -> None:
        """Leave nothing on this machine's disk."""
        self._host = None
        self._home.cleanup()

    def do(
        self, op: Op, round: int, header: list[Row], blobs: list[bytes]
    ) -> tuple[list[dict[str, Any]], list[bytes]]:
        """Do one kind of work for several clients.

        Args:
            op: One of OPS.
            round: From 1.
            header: Rows of ``pack``, one a task.
            blobs: The distinct messages.

        Returns:
            The answers, as ``rows_of`` has them.
        """
        tasks = [task_of(row, blobs) for row in header]
        return rows_of(list(self.host.do(op, round, tasks)))

    def save(self, round: int) -> dict[str, bytes]:
        """The files of ``Host.save``, which the coordinator keeps.

        Args:
            round: The last one that is over.

        Returns:
            File name → content.
        """
        with tempfile.TemporaryDirectory(dir=self._folder) as folder:
            self.host.save(Path(folder), round)
            return {path.name: path.read_bytes() for path in Path(folder).iterdir()}

    def load(self, states: dict[int, bytes]) -> None:
        """Let the host take over states.

        Args:
            states: Client → content of its file.
        """
        with tempfile.TemporaryDirectory(dir=self._folder) as folder:
            for client, content in states.items():
                (Path(folder) / str(client)).write_bytes(content)
            self.host.load({client: Path(folder) / str(client) for client in states})


CALLS: dict[str, Callable[..., Any]] = {
    "build": Actor.build,
    "end": Actor.end,
    "home": lambda actor: (str(actor._folder), sorted(p.name for p in actor._folder.iterdir())),
    "do": Actor.do,
    "sum": lambda actor, clients: sum_at(actor.host, clients),
    "save": Actor.save,
    "load": Actor.load,
    "digests": lambda actor, clients: {client: actor.host.digest(client) for client in clients},
    "remarks": lambda actor: actor.host.runtime.said,
}


class Actors:
    """Ray actors as a Transport, on the cluster that Ray finds (RAY_ADDRESS), or on one of this
    machine.

    An actor that ends ends the run, which can be resumed: its clients are then placed anew.

    Args:
        build: Makes a host from a setup.
        setups: One JSON-able dict a worker.
        places: The clients of each worker.
        population: The folder of a saved population.

    Raises:
        FedkinError: Ray is not installed, or the cluster has fewer cores than workers were asked
            for.
    """

    def __init__(
        self, build: Build, setups: list[dict[str, Any]], places: list[list[int]], population: Path
    ) -> None:
        self._ray = ray = _ray()
        self._owner = {
            client: worker for worker, clients in enumerate(places) for client in clients
        }
        self._ours = not ray.is_initialized()
        if self._ours:
            os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "fatal")  # its dumps bury our sentence
            ray.init(include_dashboard=False, log_to_driver=False, logging_level="ERROR")
        self._actors: list[Any] = []
        try:
            self._check_cores(len(setups))
            remote = ray.remote(num_cpus=1)(Actor)
            self._actors = [remote.remote() for _ in setups]
            files = ray.put({path.name: path.read_bytes() for path in population.iterdir()})
            calls = [("build", build, setup, files) for setup in setups]
            self._all(calls, START)
        except BaseException:
            self.close()
            raise

    def ask(self, op: Op, round: int, tasks: Iterable[Task]) -> Iterator[TaskResult]:
        """Hand tasks to the actors that own the clients.

        Args:
            op: One of OPS.
            round: From 1.
            tasks: Client and encoded message.

        Yields:
            An answer for each, actor by actor as they are done.
        """
        piles = tasks_by_worker(tasks, self._owner)
        running = {
            self._start(worker, "do", op, round, *pack(pile)): worker
            for worker, pile in piles.items()
        }
        while running:
            (done, *_), _ = self._ray.wait(list(running), num_returns=1)
            rows, messages = self._result(running.pop(done), done)
            yield from results(rows, iter(messages))

    def sums(self, clients: Iterable[int]) -> list[ExactSum]:
        """Partial sums of messages that stayed with their actors, taken side by side.

        Args:
            clients: Whose messages.

        Returns:
            One sum for each actor.

        Raises:
            LostWorker: An actor is gone.
        """
        packed = self._all([("sum", share) for share in self._shares(clients)])
        return [unpacked(decode(blob)) for blob in packed]

    def save(self, folder: Path, round: int) -> list[int]:
        """Write the changed states of every actor here.

        Args:
            folder: Of a checkpoint; it is there.
            round: The last one that is over.

        Returns:
            Ascending client numbers.
        """
        changed = []
        for files in self._everyone("save", round):
            for name, content in files.items():
                write_file(folder / name, content)
                changed.append(int(name.split(".")[0]))
        return sorted(changed)

    def load(self, states: Mapping[int, Path]) -> None:
        """Send the actors their clients' states.

        Args:
            states: Client → file.
        """
        own = self._shares(states)
        self._all(
            [("load", {client: states[client].read_bytes() for client in part}) for part in own]
        )

    def digests(self, clients: Iterable[int]) -> dict[int, str]:
        """sha256 of clients' personal states.

        Args:
            clients: Their numbers.

        Returns:
            {client: 64 hexadecimal digits}.
        """
        by_actor = self._all([("digests", part) for part in self._shares(clients)])
        return {client: digest for part in by_actor for client, digest in part.items()}

    def remarks(self) -> list[str]:
        """What the workers' runtimes want in the record.

        Returns:
            Each sentence once.
        """
        return sorted({sentence for remarks in self._everyone("remarks") for sentence in remarks})

    def _check_cores(self, workers: int) -> None:
        """Raise FedkinError where the cluster has too few cores, or others keep them."""
        ray = self._ray
        cores = int(ray.cluster_resources().get("CPU", 0))
        if cores < workers:
            raise FedkinError(
                f"the Ray cluster has {cores} cores, engine.workers is {workers}: {_fewer(cores)}"
            )
        end = time.monotonic() + PATIENCE  # a run that just ended gives its cores back
        while (free := int(ray.available_resources().get("CPU", 0))) < workers:
            if time.monotonic() > end:
                raise FedkinError(
                    f"{free} of the Ray cluster's {cores} cores are free, engine.workers is "
                    f"{workers}: let the other work there end, or {_fewer(free)}"
                )
            time.sleep(0.2)

    def close(self) -> None:
        """End all actors, and the cluster where it was begun here."""
        ending = [actor.call.remote("end") for actor in self._actors]
        if ending:
            self._ray.wait(ending, num_returns=len(ending), timeout=ENDING)
        for actor in self._actors:
            self._ray.kill(actor)
        if self._ours:
            self._ray.shutdown()

    def _shares(self, clients: Iterable[int]) -> list[list[int]]:
        return clients_by_worker(clients, self._owner.__getitem__, len(self._actors))

    def _start(self, worker: int, name: str, *arguments: Any) -> Any:
        return self._actors[worker].call.remote(name, *arguments)

    def _everyone(self, name: str, *arguments: Any) -> list[Any]:
        return self._all([(name, *arguments)] * len(self._actors))

    def _all(self, calls: list[tuple[Any, ...]], patience: float | None = None) -> list[Any]:
        """One call an actor, side by side."""
        running = [self._start(worker, *call) for worker, call in enumerate(calls)]
        return [
            self._result(worker, reference, patience) for worker, reference in enumerate(running)
        ]

    def _result(self, worker: int, reference: Any, patience: float | None = None) -> Any:
        try:
            answer = self._ray.get(reference, timeout=patience)
        except self._ray.exceptions.GetTimeoutError:
            raise FedkinError(
                f"Ray actor {worker} did not start within {START:g} seconds: look at the cluster "
                "(ray status)"
            ) from None
        except self._ray.exceptions.RayActorError as error:
            fewer = max(1, len(self._actors) - 1)
            raise LostWorker(
                f"Ray actor {worker} ended ({type(error).__name__}); what is committed can be "
                f"resumed, with fewer cores too (--workers {fewer})"
            ) from None
        if "failed" in answer:
            raise error_from(answer)
        return answer["result"]


def _fewer(cores: int) -> str:
    least = max(1, cores)
    return f"set engine.workers to {least} at most (fedkin resume RUN --workers {least})"


def _ray() -> Any:
    try:
        import ray
    except ImportError:
        raise FedkinError(
            "engine 'ray' needs the package ray, the extra ray: in fedkin's checkout, "
            "pip install -c constraints.txt '.[ray]'"
        ) from None
    return ray
