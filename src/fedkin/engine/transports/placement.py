"""Which worker works for which client: whose personal state it has; for clients without one,
whoever is free.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from fedkin.core.method import ClientInfo
from fedkin.engine.op import Task

FEW = 4  # different messages that each worker is sent, in case it comes to need them


def place(infos: Mapping[int, ClientInfo], workers: int) -> list[list[int]]:
    """Clients over workers by load: the largest first, each to the worker with the fewest samples
    so far.

    Args:
        infos: Client → what is known of it.
        workers: How many.

    Returns:
        Ascending client numbers of each worker.
    """
    loads, places = [0] * workers, [[] for _ in range(workers)]  # type: list[int], list[list[int]]
    for client in sorted(infos, key=lambda k: (-infos[k].samples, k)):
        lightest = loads.index(min(loads))
        places[lightest].append(client)
        loads[lightest] += infos[client].samples
    return [sorted(clients) for clients in places]


def tasks_by_worker(tasks: Iterable[Task], owner: Mapping[int, int]) -> dict[int, list[Task]]:
    """A round's tasks by the worker who has the client, in their order.

    Args:
        tasks: Of one round.
        owner: Client → worker.

    Returns:
        Worker → its tasks; no entry for who has none.
    """
    piles: dict[int, list[Task]] = {}
    for task in tasks:
        piles.setdefault(owner[task.client], []).append(task)
    return piles


def clients_by_worker(
    clients: Iterable[int], owner: Callable[[int], int], workers: int
) -> list[list[int]]:
    """Clients by the worker who has them, in their order; [] for who has none of these.

    Args:
        clients: Their numbers.
        owner: Client → worker.
        workers: How many.

    Returns:
        A list for each worker.
    """
    shares: list[list[int]] = [[] for _ in range(workers)]
    for client in clients:
        shares[owner(client)].append(client)
    return shares


class SharedTasks(NamedTuple):
    """A question's tasks: some are one worker's each, the others are taken one by one by whoever
    is free.
    """

    piles: dict[int, list[Task]]
    free: list[Task]


class Placing:
    """Which worker owns which client. ``homes``: the clients of each worker, so far as they need
    one. Where clients work changes no result.

    Args:
        infos: {client: what it knows of itself}.
        workers: How many there are.
        roam: Whether a client that has no state yet needs no worker of its own.
    """

    def __init__(self, infos: Mapping[int, ClientInfo], workers: int, roam: bool) -> None:
        self.homes = place(infos, workers)
        self._home = {
            client: worker for worker, clients in enumerate(self.homes) for client in clients
        }
        self._sizes = {client: infos[client].samples for client in infos} if roam else {}
        self._owner = {} if roam else dict(self._home)

    def known(self, worker: int) -> list[int]:
        """The clients that a worker may be asked to work for.

        Args:
            worker: Its number.

        Returns:
            Ascending client numbers.
        """
        return sorted(self._sizes) or self.homes[worker]

    def owner(self, client: int) -> int:
        """Who has the client's personal state; where it has none, who tells what it would be.

        Args:
            client: Its number.

        Returns:
            A worker's number.
        """
        return self._owner.get(client, self._home[client])

    def bind(self, client: int, worker: int) -> None:
        """The client has a personal state now, and the worker has it.

        Args:
            client: Its number.
            worker: Its number.
        """
        self._owner[client] = worker

    def deal(self, tasks: Iterable[Task]) -> SharedTasks:
        """The largest of the free ones come first: so the last to be done is a small one.

        Args:
            tasks: Of one round.

        Returns:
            What only one worker can do, and what any can.
        """
        tasks = list(tasks)
        free = [task for task in tasks if task.client not in self._owner]
        if not free or len({task.message for task in free}) > FEW:
            return SharedTasks(tasks_by_worker(tasks, {**self._home, **self._owner}), [])
        free.sort(key=lambda task: (-self._sizes[task.client], task.client))
        return SharedTasks(
            tasks_by_worker((task for task in tasks if task.client in self._owner), self._owner),
            free,
        )
