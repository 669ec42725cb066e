"""Hosts in worker processes, one torch thread each.

What passes is JSON headers and codec bytes; nothing is pickled.
"""

import json
import os
import secrets
import signal
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from multiprocessing import AuthenticationError
from multiprocessing.connection import Listener
from pathlib import Path
from selectors import EVENT_READ, DefaultSelector
from typing import Any

from fedkin.core.errors import FedkinError, Halted, reason
from fedkin.core.sums.exact import ExactSum, unpacked
from fedkin.core.system.posix import not_here
from fedkin.engine.codec import decode
from fedkin.engine.op import Op, Task, TaskResult
from fedkin.engine.transports.awaited import Awaited
from fedkin.engine.transports.calling import calling_address
from fedkin.engine.transports.failures import LostWorker, error_from
from fedkin.engine.transports.ipc import Channel, offer
from fedkin.engine.transports.parcels import pack, results
from fedkin.engine.transports.placement import Placing, clients_by_worker
from fedkin.engine.transports.serving import KEY
from fedkin.engine.transports.work_queue import claims

START_SECONDS = 120
# One torch thread; and memory that glibc keeps rather than returning it between two batches, to
# fetch it page by page.
ALONE = {
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "MALLOC_TRIM_THRESHOLD_": str(128 << 20),
    "MALLOC_MMAP_THRESHOLD_": str(32 << 20),
}


class Processes:
    """Worker processes as a Transport.

    Args:
        module: What a worker runs, as after ``python -m``.
        setups: One JSON-able dict a worker, which its builder understands.
        placing: Which worker owns which client.
    """

    def __init__(self, module: str, setups: list[dict[str, Any]], placing: Placing) -> None:
        self._placing, self._claims = placing, claims()
        self._holders: dict[int, int] = {}  # client → who has its message of the last round
        # worker → whose messages the sum holds that came with its last answers, and that sum
        self._sums: dict[int, tuple[set[int], bytes]] = {}
        self._processes: list[subprocess.Popen[bytes]] = []
        self._lines: list[Channel] = []
        key = secrets.token_hex(16)
        # a user's module is found there too
        path = os.pathsep.join(part for part in sys.path if part)
        environment = {**os.environ, **ALONE, KEY: key, "PYTHONPATH": path}
        try:
            with calling_address() as where, Listener(where, authkey=key.encode()) as listener:
                listener._listener._socket.settimeout(0.5)  # type: ignore[attr-defined]
                address = json.dumps(listener.address)
                with _deaf():
                    for worker in range(len(setups)):
                        command = [sys.executable, "-P", "-m", module, address, str(worker)]
                        self._processes.append(subprocess.Popen(command, env=environment))
                arrived = dict(self._accept(listener) for _ in setups)
            self._lines = [arrived[worker] for worker in range(len(setups))]
            for worker, setup in enumerate(setups):
                self._send(worker, setup, [])
            for worker in range(len(setups)):
                self._answer(worker)  # built: an error of the build is raised here
        except BaseException:
            for process in self._processes:
                process.kill()
            self.close()
            raise

    def ask(self, op: Op, round: int, tasks: Iterable[Task]) -> Iterator[TaskResult]:
        """Hand tasks to the workers; whoever is free takes the next of those that any can do.

        Args:
            op: One of OPS.
            round: From 1.
            tasks: Client and encoded message.

        Yields:
            An answer for each, as it comes.
        """
        piles, free = self._placing.deal(tasks)
        self._claims.begin()
        self._sums.clear()
        left: defaultdict[int, set[int]] = defaultdict(set)  # whose messages stay with a worker
        asked = list(range(len(self._processes))) if free else list(piles)
        shared = pack(free)  # the same for all who have nothing of their own
        for worker in asked:
            own = piles.get(worker, [])
            clients, blobs = pack([*own, *free]) if own else shared
            header = {"call": "do", "op": op, "round": round, "tasks": clients, "own": len(own)}
            self._send(worker, header, blobs)
        with DefaultSelector() as ready:
            for worker in asked:
                ready.register(self._lines[worker].connection, EVENT_READ, worker)
            awaited = Awaited({worker: self._processes[worker].pid for worker in asked}, piles)
            while ready.get_map():
                events = ready.select(awaited.patience)
                if not events:
                    awaited.say([key.data for key in ready.get_map().values()])
                for key, _ in events:
                    reply, messages = self._receive(key.data)
                    if not reply["more"]:
                        ready.unregister(key.fileobj)
                    arrived = iter(messages)
                    for answer in results(reply["answers"], arrived):
                        if answer.kept:
                            self._placing.bind(answer.client, key.data)
                        if answer.held is not None:
                            self._holders[answer.client] = key.data
                            left[key.data].add(answer.client)
                        awaited.answered(answer.client)
                        yield answer
                    if reply["sum"]:
                        self._sums[key.data] = left[key.data], next(arrived)

    def sums(self, clients: Iterable[int]) -> list[ExactSum]:
        """Partial sums of messages that stayed with their workers, taken side by side.

        A worker's sum of all of them came with its last answers; it is asked for another one where
        somebody's message does not count.

        Args:
            clients: Whose messages.

        Returns:
            One sum for each worker that has some of them.

        Raises:
            LostWorker: A worker is gone.
        """
        shares = clients_by_worker(clients, self._holders.__getitem__, len(self._processes))
        wanted = [worker for worker, share in enumerate(shares) if share]
        known = {worker: self._sums.pop(worker, (set(), b"")) for worker in wanted}
        asked = [worker for worker in wanted if known[worker][0] != set(shares[worker])]
        for worker in asked:
            self._send(worker, {"call": "sum", "clients": shares[worker]}, [])
        blobs = {worker: blob for worker, (_, blob) in known.items()}
        blobs |= {worker: self._answer(worker)[1][0] for worker in asked}
        return [unpacked(decode(blobs[worker])) for worker in wanted]

    def save(self, folder: Path, round: int) -> list[int]:
        """Let every worker write its changed states.

        Args:
            folder: Of a checkpoint; it is there.
            round: The last one that is over.

        Returns:
            Ascending client numbers.
        """
        answers = self._everyone({"call": "save", "folder": str(folder), "round": round})
        return sorted(client for answer in answers for client in answer["result"])

    def load(self, states: Mapping[int, Path]) -> None:
        """Let the workers take over states; each has its clients' from now on.

        Args:
            states: Client → file.
        """
        for worker, own in enumerate(self._shares(states)):
            for client in own:
                self._placing.bind(client, worker)
            self._send(
                worker,
                {"call": "load", "states": {client: str(states[client]) for client in own}},
                [],
            )
            self._answer(worker)

    def digests(self, clients: Iterable[int]) -> dict[int, str]:
        """sha256 of clients' personal states.

        Args:
            clients: Their numbers.

        Returns:
            {client: 64 hexadecimal digits}.
        """
        for worker, own in enumerate(self._shares(clients)):
            self._send(worker, {"call": "digests", "clients": own}, [])
        answers = [self._answer(worker)[0] for worker in range(len(self._processes))]
        return {
            int(client): digest for answer in answers for client, digest in answer["result"].items()
        }

    def remarks(self) -> list[str]:
        """What the workers' runtimes want in the record.

        Returns:
            Each sentence once.
        """
        answers = self._everyone({"call": "remarks"})
        return sorted({sentence for answer in answers for sentence in answer["result"]})

    def close(self) -> None:
        """End all workers."""
        for line in self._lines:
            line.close()
        self._claims.close()
        for process in self._processes:
            try:
                process.wait(timeout=1)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def _shares(self, clients: Iterable[int]) -> list[list[int]]:
        return clients_by_worker(clients, self._placing.owner, len(self._processes))

    def _accept(self, listener: Listener) -> tuple[int, Channel]:
        """The next worker that calls, and its number: they start side by side and call in any
        order.
        """
        if sys.platform == "win32":
            not_here()
        limit = time.monotonic() + START_SECONDS
        while time.monotonic() < limit:
            try:
                line = offer(listener.accept(), self._claims.file)
                return int(line.receive()[0]["worker"]), line
            except TimeoutError:
                ended = [
                    worker
                    for worker, process in enumerate(self._processes)
                    if process.poll() is not None
                ]
                if ended:
                    raise self._lost(ended[0], "did not start") from None
            # it died while it called: the next turn says so
            except (EOFError, ConnectionError, AuthenticationError):
                continue
            except OSError as error:
                if error.errno is None:  # its message was cut off: it died while it called, too
                    continue
                # no descriptor left, or no room for the line's files
                raise Halted(f"worker processes cannot be reached: {reason(error)}") from error
        raise FedkinError(f"worker processes did not start within {START_SECONDS} seconds")

    def _everyone(self, header: dict[str, Any]) -> list[dict[str, Any]]:
        for worker in range(len(self._processes)):
            self._send(worker, header, [])
        return [self._answer(worker)[0] for worker in range(len(self._processes))]

    def _send(self, worker: int, header: dict[str, Any], blobs: list[bytes]) -> None:
        try:
            self._lines[worker].ask(header, blobs)
        except OSError:
            raise self._lost(worker) from None

    def _answer(self, worker: int) -> tuple[dict[str, Any], list[bytes]]:
        """The one answer of a worker, however long it takes: said after a while."""
        awaited = Awaited({worker: self._processes[worker].pid}, {})
        while not self._lines[worker].connection.poll(awaited.patience):
            awaited.say([worker])
        return self._receive(worker)

    def _receive(self, worker: int) -> tuple[dict[str, Any], list[bytes]]:
        try:
            header, blobs = self._lines[worker].receive()
        except (EOFError, OSError):
            raise self._lost(worker) from None
        if "failed" in header:
            raise error_from(header)
        return header, blobs

    def _lost(self, worker: int, what: str = "ended") -> LostWorker:
        code = self._exit(worker)
        return LostWorker(
            f"worker process {worker} {what} (exit code {code}); what is committed can be resumed"
        )

    def _exit(self, worker: int) -> int | None:
        try:
            return self._processes[worker].wait(timeout=2)
        except subprocess.TimeoutExpired:
            return None


@contextmanager
def _deaf() -> Iterator[None]:
    """Processes started here never hear Ctrl-C: it is the coordinator's to handle, which ends the
    round first.
    """
    try:
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    except ValueError:  # not in the main thread, which alone gets the signal
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
