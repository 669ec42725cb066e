"""What a server does with the messages of a round before its update: declared, not hidden in it.

A sum that is declared can be taken anywhere (at workers, up a tree, under masks), with clipping and
noise, or by a robust rule, and no method changes.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from fedkin.core.rng import Secret
from fedkin.core.sums.exact import ExactSum, sum_of
from fedkin.core.sums.replies import DerivedReplies, RemoteReplies, uniform
from fedkin.core.sums.replies import Reply as Reply
from fedkin.core.tree import Tree, weighted_mean

__all__ = [
    "Aggregation",
    "Combined",
    "Contributions",
    "EachClient",
    "Group",
    "GroupedSum",
    "Mean",
    "Reply",
    "Rule",
    "RuleContext",
    "Step",
    "Summed",
    "WeightedSum",
    "Weights",
    "aggregated",
    "mean_of",
    "merged_groups",
    "separate_kinds",
    "summed_of",
]

Weights = Literal["samples", "uniform"]


class Mean(NamedTuple):
    """The result of a ``WeightedSum``, or of one group of a ``GroupedSum``.

    mean: {kind: tree}, the weighted mean of the kinds that are summed. each: client → the kinds
    that are not, in client order. weight: the sum of weights. reported: what a rule in the mean's
    place says of the clients, {name: {client: number}}. weights: client → its weight, of a group's.
    expected: participants of a round on average, where noise hides who took part; 0: it does not.
    """

    clients: tuple[int, ...]
    mean: Tree
    each: Mapping[int, Tree]
    weight: float
    reported: Mapping[str, Mapping[int, float]] = {}
    weights: Mapping[int, float] = {}
    expected: float = 0.0

    @property
    def participants(self) -> float:
        """How many clients the mean is of; their expected number where nobody may learn it."""
        return self.expected or len(self.clients)


class Contributions(NamedTuple):
    """What a rule in the mean's place is given.

    replies: the kinds that are summed, in client order, with the weights that are declared.
    received: client → what it was sent this round, all kinds. differences: the kinds that are sent
    as changes of it. round: counts from 1. secret: where the rule's noise comes from, None where
    none was asked for. reported: what is said of the clients so far, {name: {client: number}}.
    state: the server's, before the round.
    """

    replies: Mapping[int, Reply]
    received: Callable[[int], Tree]
    differences: tuple[str, ...]
    round: int = -1
    secret: Secret | None = None
    reported: Mapping[str, Mapping[int, float]] = {}
    state: Mapping[str, Any] = {}


class Combined(NamedTuple):
    """What a rule makes of the contributions: in the mean's place, and what it says of clients."""

    value: Tree
    reported: Mapping[str, Mapping[int, float]] = {}


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
            ``samples`` where the sum is weighted by samples, else 1.
        """
        return _weight_of(self.weight, samples)


Group = tuple[int, ...]


class GroupedSum(NamedTuple):
    """The server needs one weighted mean a group: its update receives {group: Mean}.

    group: (the kinds of a message that are not summed) → its group. weight, kinds: as of a
    ``WeightedSum``. Groups are in ascending order; one whose weights are all 0 has the mean {}.
    """

    group: Callable[[Tree], Group]
    weight: Weights = "samples"
    kinds: tuple[str, ...] = ("parameters",)

    @property
    def anywhere(self) -> bool:
        """Whether partial sums do: always, one a group."""
        return True

    def weight_of(self, samples: float) -> float:
        """A reply's weight in its group's sum.

        Args:
            samples: The client's number of training samples.

        Returns:
            ``samples`` where the sum is weighted by samples, else 1.
        """
        return _weight_of(self.weight, samples)


class EachClient(NamedTuple):
    """The server needs every message by itself: its update receives {client: Reply}.

    weight: "uniform" gives every reply the weight 1. None is for an update that needs samples
    whatever the weights are: every reply has them, and the method weighs by itself.
    """

    weight: Weights | None = "samples"


def _weight_of(weights: Weights, samples: float) -> float:
    return samples if weights == "samples" else 1.0


Summed = WeightedSum | GroupedSum
Aggregation = Summed | EachClient


class RuleContext(NamedTuple):
    """What a rule may use beside the replies: see ``Contributions``."""

    received: Callable[[int], Tree]
    round: int
    secret: Secret | None
    state: Mapping[str, Any] = {}


def aggregated(
    aggregation: Aggregation,
    replies: Mapping[int, Reply],
    context: Callable[[], RuleContext] | None = None,
) -> Mean | Mapping[Group, Mean] | Mapping[int, Reply]:
    """What a server's update receives.

    Args:
        aggregation: What the method declares.
        replies: In client order, at least one unless ``aggregation`` has a rule that needs none;
            of a large round each is read when it is asked for.
        context: What a rule may use beside them; asked for only where there is one.

    Returns:
        A Mean, a Mean a group, or the replies themselves.

    Raises:
        ValueError: There is a rule or a step, and ``context`` is None.
    """
    if isinstance(aggregation, GroupedSum):
        return _grouped(aggregation, replies)
    if isinstance(aggregation, WeightedSum):
        if aggregation.anywhere:
            return _mean(aggregation, replies)
        return _ruled(aggregation, replies, context)
    return uniform(replies) if aggregation.weight == "uniform" else replies


def _mean(aggregation: WeightedSum, replies: Mapping[int, Reply]) -> Mean:
    if isinstance(replies, RemoteReplies):
        total = replies.total()
        messages = {client: reply.message for client, reply in replies.items()}
        return Mean(tuple(replies), total.mean(), messages, total.weight)
    total, messages = ExactSum(), {}
    for client, (message, samples) in replies.items():  # each is read once, perhaps from disk
        total.add(summed_of(aggregation, message), aggregation.weight_of(samples))
        messages[client] = separate_kinds(aggregation, message)
    return Mean(tuple(replies), total.mean(), messages, total.weight)


def _grouped(aggregation: GroupedSum, replies: Mapping[int, Reply]) -> Mapping[Group, Mean]:
    members: dict[Group, dict[int, Reply]] = {}
    sums: dict[Group, ExactSum] = {}
    for client, (message, samples) in replies.items():  # each is read once, perhaps from disk
        unsummed, weight = separate_kinds(aggregation, message), aggregation.weight_of(samples)
        group = aggregation.group(unsummed)
        members.setdefault(group, {})[client] = Reply(unsummed, weight)
        if not isinstance(replies, RemoteReplies):
            sums.setdefault(group, ExactSum()).add(summed_of(aggregation, message), weight)
    means = {}
    for group in sorted(members):
        group_replies = members[group]
        total = replies.total(group_replies) if isinstance(replies, RemoteReplies) else sums[group]
        messages = {client: reply.message for client, reply in group_replies.items()}
        weights = {client: reply.weight for client, reply in group_replies.items()}
        mean = total.mean() if total.weight else {}
        means[group] = Mean(tuple(group_replies), mean, messages, total.weight, weights=weights)
    return means


def _ruled(
    aggregation: WeightedSum,
    replies: Mapping[int, Reply],
    context: Callable[[], RuleContext] | None,
) -> Mean:
    """The same with steps before it, or a rule in the mean's place."""
    if context is None:
        raise ValueError("a rule in the mean's place needs to know what clients were sent")
    at = context()
    messages = {
        client: separate_kinds(aggregation, reply.message) for client, reply in replies.items()
    }
    weights = {client: aggregation.weight_of(reply.weight) for client, reply in replies.items()}

    def counted(client: int) -> Reply:
        return Reply(summed_of(aggregation, replies[client].message), weights[client])

    summed = DerivedReplies(replies, counted)
    contributions = Contributions(
        summed, at.received, aggregation.differences, at.round, at.secret, state=at.state
    )
    for step in aggregation.steps:
        contributions = step(contributions)
    combined = (aggregation.rule or mean_of)(contributions)
    reported = {**contributions.reported, **combined.reported}
    return Mean(tuple(replies), combined.value, messages, sum(weights.values()), reported)


def mean_of(contributions: Contributions) -> Combined:
    """The weighted mean as a rule.

    Args:
        contributions: The replies of a round with their weights.

    Returns:
        Their weighted mean, and nothing beside it.
    """
    return Combined(sum_of(contributions.replies.values()).mean())


def summed_of(aggregation: Summed, message: Tree) -> Tree:
    """The kinds of a message that are summed.

    Args:
        aggregation: What the method declares.
        message: {kind: tree}.

    Returns:
        {kind: tree}, perhaps empty.
    """
    return {kind: part for kind, part in message.items() if kind in aggregation.kinds}


def separate_kinds(aggregation: Summed, message: Tree) -> Tree:
    """The kinds of a message that arrive one by one.

    Args:
        aggregation: What the method declares.
        message: {kind: tree}.

    Returns:
        {kind: tree}, perhaps empty.
    """
    return {kind: part for kind, part in message.items() if kind not in aggregation.kinds}


def merged_groups(groups: Sequence[Mean]) -> Mean:
    """Several groups of a ``GroupedSum`` as one.

    Args:
        groups: At least one; no client is in two.

    Returns:
        Their weighted mean, with all their clients in order.
    """
    with_replies = [group for group in groups if group.weight]
    weights = {client: weight for group in groups for client, weight in group.weights.items()}
    each = {client: message for group in groups for client, message in group.each.items()}
    mean = (
        weighted_mean((one.mean for one in with_replies), (one.weight for one in with_replies))
        if with_replies
        else {}
    )
    return Mean(tuple(sorted(weights)), mean, each, sum(weights.values()), weights=weights)
