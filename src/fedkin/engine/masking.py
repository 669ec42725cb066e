"""The clients' side of secure aggregation in a host: messages that wait here until they are masked.

Nothing of it is written anywhere: keys, seeds and messages are of one round, and of one process.
"""

from collections.abc import Callable
from typing import NamedTuple

from fedkin.core.aggregation import WeightedSum
from fedkin.core.tree import Tree
from fedkin.engine.masked_numbers import vector_of
from fedkin.masks.client import MaskingClient
from fedkin.masks.randomness import Randomness
from fedkin.masks.signatures import Identity
from fedkin.masks.wire import Refused

STAGES = ("shares", "masked", "reveal")  # what a client is asked after its work, in order


class _Waiting(NamedTuple):
    """A client's round: its protocol, and what it will send."""

    client: MaskingClient
    message: Tree
    weight: float


class Masking:
    """What a host does under masks.

    Args:
        threshold: t of the experiment.
        how: The sum that the method declares.
        draw: (round, client) → where its secrets come from.
        identity: Signs its clients' keys; None where nobody signs.
    """

    def __init__(
        self,
        threshold: int,
        how: WeightedSum,
        draw: Callable[[int, int], Randomness],
        identity: Identity | None = None,
    ) -> None:
        self._threshold, self._how, self._draw = threshold, how, draw
        self._identity = identity
        self._waiting: dict[int, _Waiting] = {}

    def begin(self, round: int, client: int, message: Tree, samples: float) -> bytes:
        """Keep a round's message back.

        Args:
            round: Counts from 1.
            client: Whose it is.
            message: What its update returned.
            samples: Its number of training samples.

        Returns:
            What it says in the message's place: its public keys.
        """
        draw = self._draw(round, client)
        masking = MaskingClient(client, round, self._threshold, draw, self._identity)
        self._waiting[client] = _Waiting(masking, message, self._how.weight_of(samples))
        return masking.advertise()

    def waiting(self, client: int) -> Tree | None:
        """The message that a client holds back.

        Args:
            client: Whose it is.

        Returns:
            None where none waits.
        """
        found = self._waiting.get(client)
        return None if found is None else found.message

    def answer(self, stage: str, round: int, client: int, message: bytes) -> bytes:
        """A client's answer to a later stage.

        Args:
            stage: One of ``STAGES``.
            round: Counts from 1.
            client: Who is asked.
            message: What came for it.

        Returns:
            Its answer.

        Raises:
            Refused: Nothing waits for this question.
        """
        waiting = self._waiting.get(client)
        if waiting is None or waiting.client.round != round:
            raise Refused(f"{stage}: this client has no work of round {round} that waits")
        if stage == "shares":
            return waiting.client.share(message)
        if stage == "masked":
            return waiting.client.mask(
                message, lambda digits: vector_of(waiting.message, waiting.weight, digits)
            )
        del self._waiting[client]  # the last thing that it is asked
        return waiting.client.reveal(message)
