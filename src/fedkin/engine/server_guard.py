"""The server's update with replies that may break it: who does is left out, and the old state stays
until it is well.

A message of the right shape can still make an update fail or overflow. The update is a function of
values, so it is tried again with some of the clients: those with whom it works grow by halves of
the others, whoever the culprits are. Of n clients, k culprits take about 2k(1 + log2(n / k)) tries.
"""

import math
from collections.abc import Callable, Collection, Iterator, Mapping
from numbers import Real
from typing import Any, NamedTuple

import torch
from torch import Tensor

from fedkin.core.aggregation import Reply
from fedkin.core.errors import FedkinError, Halted, named_line
from fedkin.core.sums.replies import RemoteReplies
from fedkin.core.tree import Tree, named_leaves
from fedkin.engine.method_calls.server_errors import FailedAtServer

MOST_TRIES = 300  # in one round: of 1,000 clients, 20 culprits take 266 at most
UNTRIED = f"the server's update failed so often that its message was not among {MOST_TRIES} tries"

Replies = Mapping[int, Reply]
Update = Callable[[Replies], Tree]  # replies → the new server state


class Updated(NamedTuple):
    """The new server state, and who was left out of it with the reason."""

    state: Tree
    left_out: dict[int, str]


class NotFinite(FedkinError):
    """A server state that would hold NaN or infinity."""


def guarded(update: Update, state: Tree, replies: Replies, least: int) -> Updated:
    """The update of a server state by replies, those left out that break it.

    Args:
        update: The method's update.
        state: The state before it.
        replies: What arrived, in client order.
        least: So many replies are needed.

    Returns:
        The new state, and why which clients are left out.

    Raises:
        NotFinite: Where no smaller set of replies gives finite numbers either.
        Exception: What the update raises, where too few replies are left with whom it does not:
            then it is the method's own mistake.
    """
    try:
        return Updated(_tried(update, state, replies), {})
    except Halted:
        raise
    except Exception as error:
        search = _Search(update, state, replies)
        search.all()
        if len(search.good) < max(least, 1):
            raise
        reason = str(error) if isinstance(error, FailedAtServer) else named_line(error)
        why = f"the server's update fails with its message ({reason})"
        left_out = {one: why if one in search.bad else UNTRIED for one in search.rest()}
        return Updated(search.state, left_out)


class _Search:
    """The largest set of clients with whom the update works that halving finds.

    ``good``: its members. ``bad``: who broke it by themselves, added to those who were good then.
    """

    def __init__(self, update: Update, state: Tree, replies: Replies) -> None:
        self.good: set[int] = set()
        self.bad: set[int] = set()
        self.state = state  # after the update by those who are good
        self._update, self._before, self._replies = update, state, replies
        self._left = MOST_TRIES

    def all(self) -> None:
        """Find it. Whoever broke an update alone is tried once more beside others: one reply may be
        too few for a method, whoever sent it.
        """
        alone: list[int] = []
        for half in _halves(list(self._replies)):
            self._add(half, alone)
        if alone and self.good:
            self._add(alone, [])

    def rest(self) -> list[int]:
        """Who is not among the good, in client order."""
        return [one for one in self._replies if one not in self.good]

    def _add(self, some: list[int], alone: list[int]) -> None:
        """Take in those of some clients with whom the update works beside those who are in."""
        if not self._left or self._works(some):
            return
        if len(some) > 1:
            for half in _halves(some):
                self._add(half, alone)
            return
        self.bad.update(some)
        if not self.good:
            alone += some

    def _works(self, some: list[int]) -> bool:
        wanted = self.good.union(some)
        self._left -= 1
        try:
            out = {one for one in self._replies if one not in wanted}
            self.state = _tried(self._update, self._before, without(self._replies, out))
        except Halted:
            raise
        except Exception:  # what it raises depends on whose messages are there: others are tried
            return False
        self.good = wanted
        self.bad -= wanted
        return True


def _halves(some: list[int]) -> list[list[int]]:
    middle = (len(some) + 1) // 2
    return [some[:middle], some[middle:]] if len(some) > 1 else []


def _tried(update: Update, state: Tree, replies: Replies) -> Tree:
    new = update(replies)
    check_finite(new, state)
    return new


def check_finite(new: Tree, old: Tree) -> None:
    """Refuse a new server state that holds NaN or infinity at a place where the old one had none,
    or something new that is neither a tensor nor a number.

    Args:
        new: The state after an update.
        old: The state before it.

    Raises:
        NotFinite: Names the place.
        FailedAtServer: Where it holds something else.
    """
    before = dict(named_leaves(old))
    for path, leaf in named_leaves(new):
        was = before.get(path)
        if leaf is not was and not isinstance(leaf, Tensor | Real):
            raise FailedAtServer(
                f"the server's {path or 'state'} is a {type(leaf).__name__} after the "
                "update, neither a tensor nor a number: server_update returns the whole new state"
            )
        if leaf is not was and not _finite(leaf) and (was is None or _finite(was)):
            raise NotFinite(f"NaN or infinity in the server's {path or 'state'}")


def _finite(leaf: Any) -> bool:
    if not isinstance(leaf, Tensor):
        return math.isfinite(leaf)
    # a finite sum proves every entry finite; only a sum that is not needs the look at each
    return (
        not leaf.is_floating_point()
        or math.isfinite(leaf.sum().item())
        or bool(torch.isfinite(leaf).all())
    )


def without(replies: Replies, out: Collection[int]) -> Replies:
    """Replies but those of some clients.

    Args:
        replies: What arrived; sums of them are then taken without those clients.
        out: Whose are left out.

    Returns:
        The others, in client order.
    """
    return replies.without(out) if isinstance(replies, RemoteReplies) else Without(replies, out)


class Without(Mapping[int, Reply]):
    """Replies but those of some clients; they are read when they are asked for.

    Args:
        replies: {client: reply}.
        out: Numbers of the clients that are left out.
    """

    def __init__(self, replies: Replies, out: Collection[int]) -> None:
        self._replies, self._out = replies, out

    def __getitem__(self, client: int) -> Reply:
        if client in self._out:
            raise KeyError(client)
        return self._replies[client]

    def __iter__(self) -> Iterator[int]:
        return (client for client in self._replies if client not in self._out)

    def __len__(self) -> int:
        return len(self._replies) - len(self._out)
