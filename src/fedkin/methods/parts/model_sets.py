"""Several sets of models in one message, of each of which a client chose one: to one set's and
back.
"""

import math
from collections.abc import Mapping

from fedkin.core.aggregation import Group, Mean, merged_groups
from fedkin.core.tree import Tree
from fedkin.methods.parts.clusters import reported_cluster


def transposed(tree: Tree) -> Tree:
    """Sets of parts as parts of sets.

    Args:
        tree: {a: {b: x}}, the same b in each a.

    Returns:
        {b: {a: x}}.
    """
    return {b: {a: inner[b] for a, inner in tree.items()} for b in next(iter(tree.values()))}


def chosen(message: Tree, count: int) -> Group:
    """The model of each set that a client chose.

    Args:
        message: The client's, with ``control`` {set: {"cluster": number}}.
        count: Models of a set.

    Returns:
        Numbers in the order of the sets' names.

    Raises:
        ValueError: A set has no such model: the engine leaves the message out.
    """
    return tuple(reported_cluster(part, count) for _, part in sorted(message["control"].items()))


def of_set(sent: Mapping[Group, Mean], at: int, name: str) -> dict[Group, Mean]:
    """What clients said of one set, by the model of it that they chose.

    Args:
        sent: The sums of one round by what the clients chose of all sets.
        at: The set's place in the order of names.
        name: Its name.

    Returns:
        {(model,): sum}, as a method with this set alone receives it.
    """
    parts: dict[int, list[Mean]] = {}
    for group, part in sent.items():
        mean = {kind: of[name] for kind, of in part.mean.items()}
        each = {client: message["control"][name] for client, message in part.each.items()}
        parts.setdefault(group[at], []).append(part._replace(mean=mean, each=each))
    return {(k,): merged_groups(parts[k]) for k in sorted(parts)}


def total_loss(heard: Mapping[Group, Mean]) -> float:
    """Σ n_i loss_i of the models that the participants chose: the order of its mean, all sets
    having the same ones.

    Args:
        heard: Of one set, as ``of_set`` gives it.

    Returns:
        The sum, rounded once.
    """
    return math.fsum(
        group.weights[client] * float(message["loss"])
        for group in heard.values()
        for client, message in group.each.items()
    )
