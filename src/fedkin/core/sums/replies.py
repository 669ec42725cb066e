"""Replies of a round as a server's update reads them, wherever their messages lie."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from fedkin.core.sums.exact import ExactSum
from fedkin.core.tree import Tree


class Reply(NamedTuple):
    """What the server received from one client: its message and its number of training samples."""

    message: Tree
    weight: float


class RemoteReplies(Mapping[int, Reply]):
    """Replies whose summed kinds stay at their hosts; a message holds the other kinds.

    Args:
        replies: What arrived, in client order.
        take: Clients → the sum of what they left.
    """

    def __init__(
        self, replies: Mapping[int, Reply], take: Callable[[Sequence[int]], ExactSum]
    ) -> None:
        self._replies, self._take = replies, take

    def total(self, clients: Iterable[int] | None = None) -> ExactSum:
        """The sum of what they left.

        Args:
            clients: Whose; None for all of them.

        Returns:
            Sum and weight.
        """
        return self._take(tuple(self._replies if clients is None else clients))

    def without(self, out: Collection[int]) -> "RemoteReplies":
        """The replies but those of some clients.

        Args:
            out: Whose are left out.

        Returns:
            The others, in client order.
        """
        kept = {client: reply for client, reply in self._replies.items() if client not in out}
        return RemoteReplies(kept, self._take)

    def __getitem__(self, client: int) -> Reply:
        return self._replies[client]

    def __iter__(self) -> Iterator[int]:
        return iter(self._replies)

    def __len__(self) -> int:
        return len(self._replies)


class DerivedReplies(Mapping[int, Reply]):
    """Replies that are made of others, each when it is asked for.

    Args:
        replies: Of the same clients, in their order.
        one: Client → its reply.
    """

    def __init__(self, replies: Mapping[int, Reply], one: Callable[[int], Reply]) -> None:
        self._replies, self._one = replies, one

    def __getitem__(self, client: int) -> Reply:
        return self._one(client)

    def __iter__(self) -> Iterator[int]:
        return iter(self._replies)

    def __len__(self) -> int:
        return len(self._replies)


def uniform(replies: Mapping[int, Reply]) -> DerivedReplies:
    """Replies that all have weight 1.

    Args:
        replies: {client: reply}, each read when it is asked for.

    Returns:
        The same messages.
    """
    return DerivedReplies(replies, lambda client: replies[client]._replace(weight=1.0))
