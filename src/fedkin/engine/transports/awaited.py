"""Whom a round waits for, said after a while: a worker that was stopped never answers."""

import logging
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path

from fedkin.core.errors import some
from fedkin.engine.op import Task

PATIENCE = 60.0  # seconds without an answer, before the first sentence; then twice as long
LOG = logging.getLogger("fedkin")
STOPPED = ("T", "t")  # the state of a process, by a signal or by a debugger


class Awaited:
    """The workers of one question, and what each of them alone was asked.

    Args:
        pids: worker → its process.
        piles: worker → the tasks that nobody else can take.
    """

    def __init__(self, pids: Mapping[int, int], piles: Mapping[int, Iterable[Task]]) -> None:
        self.patience = PATIENCE
        self._pids = pids
        self._clients = {
            worker: {task.client: None for task in tasks} for worker, tasks in piles.items()
        }

    def answered(self, client: int) -> None:
        """A client's answer came.

        Args:
            client: Its number.
        """
        for clients in self._clients.values():
            clients.pop(client, None)

    def say(self, workers: Iterable[int]) -> None:
        """One sentence a worker that has not answered; the next one after twice the time.

        Args:
            workers: Numbers of those that still work.
        """
        for worker in sorted(workers):
            pid, clients = self._pids[worker], self._clients.get(worker, {})
            held = f" with clients {some(map(str, clients))}" if clients else ""
            doing = "is at work"
            if _stopped(pid):
                doing = f"is stopped: let it go on with kill -CONT {pid}"
            LOG.warning(
                "no answer for %g s: worker process %d (pid %d)%s %s",
                self.patience,
                worker,
                pid,
                held,
                doing,
            )
        self.patience *= 2


def _stopped(pid: int) -> bool:
    """Whether a signal or a debugger stopped a process; False where the system does not say."""
    with suppress(OSError):
        after = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace")
        return after.rpartition(")")[2].split()[0] in STOPPED
    return False
