"""How a coordinator reaches its hosts: the same verbs in process, over processes,
and beyond.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

import torch

from fedkin.core.sums.exact import ExactSum
from fedkin.engine.host import Host
from fedkin.engine.op import Op, Task, TaskResult


class Transport(Protocol):
    """Hosts, from where the coordinator stands. Answers may come in any order."""

    def ask(self, op: Op, round: int, tasks: Iterable[Task]) -> Iterator[TaskResult]:
        """Hand tasks to the hosts that own the clients; yield their answers as they come.

        Args:
            op: One of OPS: "local", "evaluate", "views", …
            round: From 1; 0 before the first one.
            tasks: Client and encoded message.

        Yields:
            An answer for each.
        """

    def sums(self, clients: Iterable[int]) -> list[ExactSum]:
        """Partial sums of messages that stayed with their hosts, one a host at most.

        Args:
            clients: Whose messages; they answered the last question with ``held``.

        Returns:
            One sum for each host that has some of them.
        """

    def save(self, folder: Path, round: int) -> list[int]:
        """Let every host write its changed states; returns whose.

        Args:
            folder: Of a checkpoint; it is there.
            round: The last one that is over.

        Returns:
            Ascending client numbers.
        """

    def load(self, states: Mapping[int, Path]) -> None:
        """Let every host take over its clients' states.

        Args:
            states: Client → file.
        """

    def digests(self, clients: Iterable[int]) -> dict[int, str]:
        """sha256 of clients' personal states.

        Args:
            clients: Their numbers.

        Returns:
            {client: 64 hexadecimal digits}.
        """

    def remarks(self) -> list[str]:
        """What the hosts' runtimes want in the record.

        Returns:
            A sentence each.
        """

    def close(self) -> None:
        """End the hosts."""


class InProcess:
    """One host, in the caller's process.

    One torch thread, as in workers, so that results are the same bits.

    Args:
        host: Which owns all clients.
    """

    def __init__(self, host: Host) -> None:
        self.host = host

    def ask(self, op: Op, round: int, tasks: Iterable[Task]) -> Iterator[TaskResult]:
        """Let the host work; it answers in the order of ``tasks``.

        Args:
            op: One of OPS.
            round: From 1; 0 before the first one.
            tasks: Client and encoded message.

        Yields:
            An answer for each.
        """
        with one_thread():
            yield from self.host.do(op, round, tasks)

    def sums(self, clients: Iterable[int]) -> list[ExactSum]:
        """The sum of messages that stayed with the host.

        Args:
            clients: Whose messages.

        Returns:
            One sum for each host that has some of them.
        """
        assert self.host.partial_sums is not None
        return [self.host.partial_sums.sum(clients)]

    def save(self, folder: Path, round: int) -> list[int]:
        """Let the host write its changed states.

        Args:
            folder: Of a checkpoint; it is there.
            round: The last one that is over.

        Returns:
            Ascending client numbers.
        """
        return self.host.save(folder, round)

    def load(self, states: Mapping[int, Path]) -> None:
        """Let the host take over states.

        Args:
            states: Client → file.
        """
        self.host.load(states)

    def digests(self, clients: Iterable[int]) -> dict[int, str]:
        """sha256 of clients' personal states.

        Args:
            clients: Their numbers.

        Returns:
            {client: 64 hexadecimal digits}.
        """
        return {client: self.host.digest(client) for client in clients}

    def remarks(self) -> list[str]:
        """What the host's runtime wants in the record.

        Returns:
            A sentence each.
        """
        return self.host.runtime.said

    def close(self) -> None:
        """Nothing: there is no process to end."""


@contextmanager
def one_thread() -> Iterator[None]:
    """One intra-op torch thread: small steps get slower with two, and sums change their
    last bits.

    Yields:
        Nothing.
    """
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
