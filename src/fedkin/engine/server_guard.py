"""The server's update with replies that may break it: who does is left out, and the old state stays
until it is well.

A message of the right shape can still make an update fail or overflow. The update is a function of
values, so it is tried again without some of the clients: by halves, which finds one of n in log2(n)
tries.
"""

import math
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any, NamedTuple

import torch
from torch import Tensor

from fedkin.core.aggregation import Reply
from fedkin.core.errors import FedkinError, Halted, named_line
from fedkin.core.sums.replies import Elsewhere
from fedkin.core.tree import Tree, named_leaves

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
        Exception: What the update raises, where it does so without any half of the clients too:
            then it is the method's own mistake.
    """
    try:
        return Updated(_tried(update, state, replies), {})
    except Halted:
        raise
    except Exception as error:
        found = _without_some(update, state, replies, least)
        if found is None:
            raise
        why = f"the server's update fails with its message ({named_line(error)})"
        return Updated(found.state, dict.fromkeys(found.left_out, why))


def _without_some(update: Update, state: Tree, replies: Replies, least: int) -> Updated | None:
    """The update without as few clients as halving finds; None where no half is to blame."""
    suspects, best = list(replies), None
    while suspects:
        half = suspects[: (len(suspects) + 1) // 2]
        found = _attempt(update, state, replies, half, least)
        if found is not None:
            best = found
        if len(suspects) == 1:
            break
        suspects = half if found is not None else suspects[len(half) :]
    return best


def _attempt(
    update: Update, state: Tree, replies: Replies, out: list[int], least: int
) -> Updated | None:
    if len(replies) - len(out) < max(least, 1):
        return None
    try:
        return Updated(_tried(update, state, without(replies, set(out))), dict.fromkeys(out, ""))
    except Halted:
        raise
    except Exception:  # what it raises depends on whose messages are there: others are tried
        return None


def _tried(update: Update, state: Tree, replies: Replies) -> Tree:
    new = update(replies)
    check_finite(new, state)
    return new


def check_finite(new: Tree, old: Tree) -> None:
    """Raise NotFinite where a new server state holds NaN or infinity at a place where the old one
    had none.

    Args:
        new: The state after an update.
        old: The state before it.

    Raises:
        NotFinite: Names the place.
    """
    before = dict(named_leaves(old))
    for path, leaf in named_leaves(new):
        was = before.get(path)
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
    return replies.without(out) if isinstance(replies, Elsewhere) else Without(replies, out)


class Without(Mapping[int, Reply]):
    """Replies but those of some clients; they are read when they are asked for."""

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
