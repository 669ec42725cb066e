"""What a server does with the messages of a round before its update: declared, not hidden in it.

A sum that is declared can be taken anywhere (at workers, up a tree, under masks), with clipping and
noise, or by a robust rule, and no method changes.
"""

from collections.abc import Iterator, Mapping
from typing import Literal, NamedTuple

from fedkin.core.tree import Tree, weighted_mean

Weights = Literal["samples", "uniform"]


class Reply(NamedTuple):
    """What the server received from one client: its message and its number of training samples."""

    message: Tree
    weight: float


class Mean(NamedTuple):
    """The result of a ``WeightedSum``.

    mean: {kind: tree}, the weighted mean of the kinds that are summed. each: client → the kinds
    that are not, in client order. weight: the sum of weights.
    """

    clients: tuple[int, ...]
    mean: Tree
    each: Mapping[int, Tree]
    weight: float


class WeightedSum(NamedTuple):
    """The server needs only the weighted mean of what clients send.

    weight: "samples" for p_i = n_i / Σ n, "uniform" for 1 / (number of replies). kinds: what is
    summed; other kinds of the message arrive one by one. differences: those of the kinds that are
    sent as changes of what was received, not as values.
    """

    weight: Weights = "samples"
    kinds: tuple[str, ...] = ("parameters",)
    differences: tuple[str, ...] = ()


class EachClient(NamedTuple):
    """The server needs every message by itself: its update receives {client: Reply}.

    weight: "uniform" gives every reply the weight 1.
    """

    weight: Weights = "samples"


Aggregation = WeightedSum | EachClient


def aggregated(how: Aggregation, replies: Mapping[int, Reply]) -> Mean | Mapping[int, Reply]:
    """What a server's update receives.

    Args:
        how: What the method declares.
        replies: At least one, in client order; of a large round each is read when it is asked for.

    Returns:
        A Mean, or the replies themselves.
    """
    if isinstance(how, WeightedSum):
        return _mean(how, replies)
    return replies if how.weight == "samples" else _Alike(replies)


def _mean(how: WeightedSum, replies: Mapping[int, Reply]) -> Mean:
    weights: list[float] = []
    each: dict[int, Tree] = {}

    def summed() -> Iterator[Tree]:
        for client, (message, samples) in replies.items():  # each is read once, perhaps from disk
            weights.append(samples if how.weight == "samples" else 1.0)
            each[client] = {kind: part for kind, part in message.items() if kind not in how.kinds}
            yield {kind: part for kind, part in message.items() if kind in how.kinds}

    mean = weighted_mean(summed(), (weights[k] for k in range(len(replies))))
    return Mean(tuple(replies), mean, each, sum(weights))


class _Alike(Mapping[int, Reply]):
    """Replies that count alike."""

    def __init__(self, replies: Mapping[int, Reply]) -> None:
        self._replies = replies

    def __getitem__(self, client: int) -> Reply:
        return self._replies[client]._replace(weight=1.0)

    def __iter__(self) -> Iterator[int]:
        return iter(self._replies)

    def __len__(self) -> int:
        return len(self._replies)
