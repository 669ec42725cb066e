"""What a server does with the messages of a round before its update: declared, not hidden in it.

A sum that is declared can be taken anywhere (at workers, up a tree, under masks), with clipping and
noise, or by a robust rule, and no method changes.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Literal, NamedTuple

from fedkin.core.rng import Secret
from fedkin.core.sums.exact import ExactSum, sum_of
from fedkin.core.tree import Tree

Weights = Literal["samples", "uniform"]


class Reply(NamedTuple):
    """What the server received from one client: its message and its number of training samples."""

    message: Tree
    weight: float


class Mean(NamedTuple):
    """The result of a ``WeightedSum``.

    mean: {kind: tree}, the weighted mean of the kinds that are summed. each: client → the kinds
    that are not, in client order. weight: the sum of weights. told: what a rule in the mean's place
    says of the clients, {name: {client: number}}.
    """

    clients: tuple[int, ...]
    mean: Tree
    each: Mapping[int, Tree]
    weight: float
    told: Mapping[str, Mapping[int, float]] = {}


class Contributions(NamedTuple):
    """What a rule in the mean's place is given.

    replies: the kinds that are summed, in client order, with the weights that are declared.
    received: client → what it was sent this round, all kinds. differences: the kinds that are sent
    as changes of it. round: counts from 1. secret: where the rule's noise comes from, None where
    none was asked for. told: what is said of the clients so far, {name: {client: number}}.
    """

    replies: Mapping[int, Reply]
    received: Callable[[int], Tree]
    differences: tuple[str, ...]
    round: int = -1
    secret: Secret | None = None
    told: Mapping[str, Mapping[int, float]] = {}


class Combined(NamedTuple):
    """What a rule makes of the contributions: in the mean's place, and what it says of clients."""

    value: Tree
    told: Mapping[str, Mapping[int, float]] = {}


Rule = Callable[[Contributions], Combined]
Step = Callable[[Contributions], Contributions]  # what is done to the replies before the rule


class WeightedSum(NamedTuple):
    """The server needs only the weighted mean of what clients send.

    weight: "samples" for p_i = n_i / Σ n, "uniform" for 1 / (number of replies). kinds: what is
    summed; other kinds of the message arrive one by one. differences: those of the kinds that are
    sent as changes of what was received, not as values. steps: what is done to the replies before
    they are summed. rule: what is taken in the mean's place (``fedkin.transforms``).
    """

    weight: Weights = "samples"
    kinds: tuple[str, ...] = ("parameters",)
    differences: tuple[str, ...] = ()
    steps: tuple[Step, ...] = ()
    rule: Rule | None = None

    @property
    def anywhere(self) -> bool:
        """Whether partial sums do: no rule and no step needs every message by itself."""
        return self.rule is None and not self.steps

    def weight_of(self, samples: float) -> float:
        """A reply's weight in the sum.

        Args:
            samples: The client's number of training samples.

        Returns:
            The weight.
        """
        return samples if self.weight == "samples" else 1.0


class EachClient(NamedTuple):
    """The server needs every message by itself: its update receives {client: Reply}.

    weight: "uniform" gives every reply the weight 1.
    """

    weight: Weights = "samples"


Aggregation = WeightedSum | EachClient


class Elsewhere(Mapping[int, Reply]):
    """Replies whose summed kinds stay where they were made; a message holds the other kinds.

    Args:
        replies: What arrived, in client order.
        take: Clients → the sum of what they left.
    """

    def __init__(
        self, replies: Mapping[int, Reply], take: Callable[[Sequence[int]], ExactSum]
    ) -> None:
        self._replies, self._take = replies, take

    def total(self) -> ExactSum:
        """The sum of all of them."""
        return self._take(tuple(self._replies))

    def without(self, out: Collection[int]) -> "Elsewhere":
        """The replies but those of some clients.

        Args:
            out: Whose are left out.

        Returns:
            The others, in client order.
        """
        kept = {client: reply for client, reply in self._replies.items() if client not in out}
        return Elsewhere(kept, self._take)

    def __getitem__(self, client: int) -> Reply:
        return self._replies[client]

    def __iter__(self) -> Iterator[int]:
        return iter(self._replies)

    def __len__(self) -> int:
        return len(self._replies)


class Around(NamedTuple):
    """What a rule may use beside the replies: see ``Contributions``."""

    received: Callable[[int], Tree]
    round: int
    secret: Secret | None


def aggregated(
    how: Aggregation,
    replies: Mapping[int, Reply],
    around: Callable[[], Around] | None = None,
) -> Mean | Mapping[int, Reply]:
    """What a server's update receives.

    Args:
        how: What the method declares.
        replies: In client order, at least one unless ``how`` has a rule that needs none; of a large
            round each is read when it is asked for.
        around: What a rule may use beside them; asked for only where there is one.

    Returns:
        A Mean, or the replies themselves.
    """
    if isinstance(how, WeightedSum):
        return _mean(how, replies) if how.anywhere else _ruled(how, replies, around)
    return replies if how.weight == "samples" else _Alike(replies)


def _mean(how: WeightedSum, replies: Mapping[int, Reply]) -> Mean:
    if isinstance(replies, Elsewhere):
        total = replies.total()
        each = {client: reply.message for client, reply in replies.items()}
        return Mean(tuple(replies), total.mean(), each, total.weight)
    total, each = ExactSum(), {}
    for client, (message, samples) in replies.items():  # each is read once, perhaps from disk
        total.add(summed_of(how, message), how.weight_of(samples))
        each[client] = apart_of(how, message)
    return Mean(tuple(replies), total.mean(), each, total.weight)


def _ruled(
    how: WeightedSum, replies: Mapping[int, Reply], around: Callable[[], Around] | None
) -> Mean:
    """The same with steps before it, or a rule in the mean's place."""
    if around is None:
        raise ValueError("a rule in the mean's place needs to know what clients were sent")
    at = around()
    each = {client: apart_of(how, reply.message) for client, reply in replies.items()}
    weights = {client: how.weight_of(reply.weight) for client, reply in replies.items()}
    summed = _Summed(how, replies, weights)
    given = Contributions(summed, at.received, how.differences, at.round, at.secret)
    for step in how.steps:
        given = step(given)
    found = (how.rule or mean_of)(given)
    told = {**given.told, **found.told}
    return Mean(tuple(replies), found.value, each, sum(weights.values()), told)


def mean_of(given: Contributions) -> Combined:
    """The weighted mean as a rule.

    Args:
        given: The replies of a round with their weights.

    Returns:
        Their weighted mean, and nothing beside it.
    """
    return Combined(sum_of(given.replies.values()).mean())


def summed_of(how: WeightedSum, message: Tree) -> Tree:
    """The kinds of a message that are summed.

    Args:
        how: What the method declares.
        message: {kind: tree}.

    Returns:
        {kind: tree}, perhaps empty.
    """
    return {kind: part for kind, part in message.items() if kind in how.kinds}


def apart_of(how: WeightedSum, message: Tree) -> Tree:
    """The kinds of a message that arrive one by one.

    Args:
        how: What the method declares.
        message: {kind: tree}.

    Returns:
        {kind: tree}, perhaps empty.
    """
    return {kind: part for kind, part in message.items() if kind not in how.kinds}


class _Summed(Mapping[int, Reply]):
    """Replies without what is not summed, with the weights that count."""

    def __init__(
        self, how: WeightedSum, replies: Mapping[int, Reply], weights: Mapping[int, float]
    ) -> None:
        self._how, self._replies, self._weights = how, replies, weights

    def __getitem__(self, client: int) -> Reply:
        return Reply(summed_of(self._how, self._replies[client].message), self._weights[client])

    def __iter__(self) -> Iterator[int]:
        return iter(self._replies)

    def __len__(self) -> int:
        return len(self._replies)


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
