"""Which clients' messages a round uses: the one place where a message up is bounded or refused."""

import math
from collections.abc import Mapping
from typing import NamedTuple

from fedkin.core.aggregation import Reply
from fedkin.core.kinds import CENTROIDS, PARAMETERS, PREDICTIONS
from fedkin.core.method import ClientInfo, Method
from fedkin.core.tree import Tree, fill, named_leaves
from fedkin.engine.codec import BadMessage, check, check_kinds, decode
from fedkin.engine.op import TaskResult

# kinds of which clients send numbers of one size
COMPARED = (PARAMETERS, PREDICTIONS, CENTROIDS)
# Times the others' largest number: weights of such a client would make the others' training diverge
FAR = 1e4
TOO_LARGE = "too large to be merged"


class Accepted(NamedTuple):
    """A usable message.

    ``largest``: its largest number by kind, for the kinds that are compared.
    """

    reply: Reply
    largest: dict[str, float]


def accepted(method: Method, info: ClientInfo, answer: TaskResult, expected: Tree) -> Accepted:
    """A client's message, checked against what the method promises.

    Args:
        method: Whose message it is.
        info: What the client reported of itself before training: its weight is its number of
            samples, whatever it says now.
        answer: What arrived.
        expected: A tree with the structure, shapes and dtypes that the message must have.

    Returns:
        The reply, with its entries in the order of ``expected``, and the largest number of each
        kind that is compared among clients.

    Raises:
        BadMessage: With the reason against it.
    """
    if answer.message is None:
        raise BadMessage(answer.error or "no message")
    message = decode(answer.message)
    check_kinds(message, method.name)
    largest = check(message, expected)
    _check_weight(info, answer)
    return Accepted(Reply(_in_order(message, expected), answer.weight), _compared(largest))


def _in_order(message: Tree, expected: Tree) -> Tree:
    """The message's entries in the nodes and the order of ``expected``: rules lay messages beside
    each other as vectors, and no client may choose which of its numbers meets which of others'.
    """
    by_path = dict(named_leaves(message))
    return fill(expected, (by_path[path] for path, _ in named_leaves(expected)))


def accepted_held(method: Method, info: ClientInfo, answer: TaskResult) -> Accepted:
    """What arrived of a message that its host checked and holds for a sum.

    Args:
        method: Whose message it is.
        info: What the client reported of itself before training.
        answer: What arrived.

    Returns:
        The kinds that are not summed, and the largest numbers of all.

    Raises:
        BadMessage: With the reason against it.
    """
    assert answer.held is not None
    _check_weight(info, answer)
    rest = {} if answer.message is None else decode(answer.message)
    check_kinds(rest, method.name)
    return Accepted(Reply(rest, answer.weight), _compared(answer.held["largest"]))


def check_version(answer: TaskResult, version: int) -> None:
    """Refuse a message that answers another state of the server than this round's.

    Args:
        answer: What arrived.
        version: Of the state that was sent: how many rounds it has seen.

    Raises:
        BadMessage: With both versions.
    """
    if answer.message is None and answer.held is None:
        return  # its reason says more
    if answer.version != version:
        state = "no state" if answer.version is None else f"the state after round {answer.version}"
        raise BadMessage(f"it answers {state} of the server, this round's is after round {version}")


def _check_weight(info: ClientInfo, answer: TaskResult) -> None:
    if answer.weight != info.samples:
        raise BadMessage(
            f"it says that it has {answer.weight:g} samples, and began with {info.samples}"
        )


def _compared(largest: Mapping[str, float]) -> dict[str, float]:
    return {kind: largest[kind] for kind in COMPARED if kind in largest}


def far_off(largest: Mapping[int, Mapping[str, float]]) -> dict[int, str]:
    """Clients whose numbers are far larger than the others', with the reason against each.

    The measure is the (lower) median over the clients, so that half of them would have to agree on
    a lie. Numbers up to ``FAR`` itself are never far off.

    Args:
        largest: {client: {kind: the largest number in its message}}.

    Returns:
        {client: reason}; {} where nobody is.
    """
    reasons: dict[int, str] = {}
    for kind in COMPARED:
        by = {client: numbers[kind] for client, numbers in largest.items() if kind in numbers}
        if not by:
            continue
        usual = sorted(by.values())[(len(by) - 1) // 2]
        limit = FAR * max(usual, 1.0)
        for client, value in by.items():
            if value > limit and math.isfinite(limit):
                reasons[client] = (
                    f"{kind}: a number of {value:.3g} is {TOO_LARGE}, the usual largest one "
                    f"is {usual:.3g}"
                )
    return reasons
