"""What all sides of a round know, and what is bound to every key of it."""

from typing import NamedTuple

from fedkin.core.errors import FedkinError
from fedkin.masks.wire import MOST_CLIENTS, MOST_NUMBERS

SCORES = 1 << 31  # above every round's number: keys of scores are of no update
COUNTS = 1 << 30  # between both: keys of how many clients have a score are of no score
LEAST = 3  # clients: of two, each knows the other's vector from the sum


class Terms(NamedTuple):
    """round: counts from 1. threshold: t, clients without whom nothing is revealed. size: numbers
    in a vector.
    """

    round: int
    threshold: int
    size: int


class Bounds(NamedTuple):
    """What a client's own experiment says of a round. threshold: t. most: clients that take part
    at most.
    """

    threshold: int
    most: int


def of_scores(round: int) -> int:
    """The number under which an evaluation's scores are added, which no round of updates has.

    Args:
        round: After which clients are evaluated.
    """
    return SCORES + round


def of_counts(round: int) -> int:
    """The number under which it is counted who has which scores, another than that of the scores.

    Args:
        round: After which clients are evaluated.
    """
    return COUNTS + round


def named(number: int) -> str:
    """A round, or the scores of one, as errors call it.

    Args:
        number: Of a round, or what ``of_scores`` or ``of_counts`` made of it.
    """
    if number < COUNTS:
        return f"round {number}"
    return f"round {number - (COUNTS if number < SCORES else SCORES)}: scores"


def usual_threshold(clients: int) -> int:
    """More than two thirds: ⌊2n/3⌋ + 1."""
    return 2 * clients // 3 + 1


def check_terms(terms: Terms, clients: int) -> None:
    """Raise FedkinError for terms that protect nobody, or that no round can keep."""
    if clients < LEAST:
        raise FedkinError(
            f"secure aggregation needs {LEAST} participants a round or more, and there are "
            f"{clients}: each would know the other's update"
        )
    if clients > MOST_CLIENTS:
        raise FedkinError(
            f"secure aggregation takes at most {MOST_CLIENTS:,} participants a round, not "
            f"{clients:,}: lower run.participation"
        )
    if terms.threshold > clients:
        raise FedkinError(
            f"the threshold of secure aggregation is {terms.threshold}, above the {clients} "
            f"participants of a round: take {usual_threshold(clients)}"
        )
    check_majority(terms.threshold, clients)
    if terms.threshold < LEAST:
        raise FedkinError(
            f"the threshold of secure aggregation is {terms.threshold}, and must be {LEAST} or "
            f"more: of two updates in a sum, each client would know the other's: take {LEAST}"
        )
    if terms.size > MOST_NUMBERS:
        raise FedkinError(
            f"secure aggregation takes messages of at most {MOST_NUMBERS:,} numbers, not "
            f"{terms.size:,}"
        )


def check_majority(threshold: int, clients: int) -> None:
    """Raise FedkinError for a threshold of half of the clients or fewer.

    A server could ask each half for another secret of one client: it would tell the one that the
    client is gone, and the other that it is there.
    """
    if 2 * threshold <= clients:
        raise FedkinError(
            f"the threshold of secure aggregation is {threshold}, and must be above half of "
            f"the {clients} participants of a round: take {usual_threshold(clients)}"
        )


def direction(round: int, sender: int, receiver: int) -> str:
    """What the key of a sender's shares is for."""
    return f"shares {round} {sender} {receiver}"


def pairing(round: int, one: int, other: int) -> str:
    """What the key of two clients' mask is for."""
    return f"mask {round} {min(one, other)} {max(one, other)}"


def point_of(client: int) -> int:
    """Where a client's shares are taken: never at 0, where the secret is."""
    return client + 1
