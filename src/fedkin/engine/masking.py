"""The clients' side of secure aggregation in a host: messages that wait here until they are masked.

Nothing of it is written anywhere: keys, seeds and messages are of one round, and of one process.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import NamedTuple

from fedkin.core.aggregation import WeightedSum
from fedkin.core.rng import Secret
from fedkin.core.tree import Tree
from fedkin.engine.evaluation import Evaluation
from fedkin.engine.masked_numbers import vector_of
from fedkin.engine.masked_scores import decode_places, presence_of, weighted_scores
from fedkin.engine.op import (
    COUNT_STAGES,
    OPENING,
    SCORE_STAGES,
    SCORING,
    STAGES,
    CountStage,
    ScoreStage,
    ScoringStage,
    Stage,
)
from fedkin.masks.client import MaskingClient
from fedkin.masks.randomness import Randomness
from fedkin.masks.signatures import Identity
from fedkin.masks.terms import Bounds, of_counts, of_scores
from fedkin.masks.wire import Refused


class Waiting(NamedTuple):
    """A client's round: its protocol, and what it will send.

    record: of an evaluation, what stays at the client; samples: what weighs it.
    """

    client: MaskingClient
    message: Tree
    weight: float
    record: Evaluation = Evaluation()
    samples: Mapping[str, int] = MappingProxyType({})


class Masking:
    """What a host does under masks.

    Args:
        bounds: What the experiment says of a round.
        how: The sum that the method declares.
        draw: (round, client) → where its secrets come from.
        identity: Signs its clients' keys; None where nobody signs.
        scoring: Round → the same of an evaluation, which may ask others than the round.
    """

    def __init__(
        self,
        bounds: Bounds,
        how: WeightedSum,
        draw: Callable[[int, int], Randomness],
        identity: Identity | None = None,
        scoring: Callable[[int], Bounds] | None = None,
    ) -> None:
        self._bounds, self._how, self._draw = bounds, how, draw
        self._identity, self._scoring = identity, scoring
        self._waiting: dict[tuple[str, int], list[Waiting]] = {}

    def begin(
        self, round: int, client: int, message: Tree, samples: float, sent_digest: bytes = b""
    ) -> bytes:
        """Keep a round's message back.

        Args:
            round: Counts from 1.
            client: Whose it is.
            message: What its update returned.
            samples: Its number of training samples.
            sent_digest: Stands for what it was sent, from which its work began.

        Returns:
            What it says in the message's place: its public keys.
        """
        masking = self._client(client, round, self._bounds, sent_digest)
        waiting = Waiting(masking, message, self._how.weight_of(samples))
        # an older request that arrives late must not take this round's keys away
        self._keep(STAGES[-1], client, waiting)
        return masking.advertise()

    def begin_scores(
        self,
        round: int,
        client: int,
        record: Evaluation,
        samples: Mapping[str, int],
        sent_digest: bytes = b"",
    ) -> bytes:
        """Keep an evaluation's scores back, and which of them there are.

        Args:
            round: Counts from 1.
            client: Whose they are.
            record: Its scores, measures and notes.
            samples: Its "val" and "test" samples.
            sent_digest: Stands for what it was sent, and evaluated.

        Returns:
            What it says in their place: public keys for the count of who has which.
        """
        bounds = self._bounds if self._scoring is None else self._scoring(round)
        counting = self._client(client, of_counts(round), bounds, sent_digest)
        scoring = self._client(client, of_scores(round), bounds, sent_digest)
        counts = Waiting(counting, presence_of(record, samples), 1.0)
        self._keep(COUNT_STAGES[-1], client, counts)
        # without a number until it is known which of them enough clients have
        self._keep(SCORE_STAGES[-1], client, Waiting(scoring, {}, 1.0, record, samples))
        return counting.advertise()

    def _keep(self, last: Stage | CountStage | ScoreStage, client: int, waiting: Waiting) -> None:
        known = self._waiting.get((last, client), [])
        others = [one for one in known if one.client.round != waiting.client.round]
        # a node is asked for the last round's and for the finished model's scores at once
        newest = sorted(others, key=lambda one: one.client.round)[-1:]
        self._waiting[last, client] = [*newest, waiting]

    def _client(
        self, client: int, session: int, bounds: Bounds, sent_digest: bytes
    ) -> MaskingClient:
        draw, threshold = self._draw(session, client), bounds.threshold
        return MaskingClient(
            client, session, threshold, draw, self._identity, sent_digest, bounds.most
        )

    def waiting(self, client: int, last: Stage | ScoringStage = STAGES[-1]) -> Waiting | None:
        """What a client holds back: the one that it began last.

        Args:
            client: Whose it is.
            last: The last stage that it waits for.

        Returns:
            None where nothing waits.
        """
        messages = self._waiting.get((last, client))
        return messages[-1] if messages else None

    def answer(self, stage: Stage | ScoringStage, round: int, client: int, message: bytes) -> bytes:
        """A client's answer to a later stage.

        Args:
            stage: One of ``STAGES`` or of ``SCORING``.
            round: Counts from 1.
            client: Who is asked.
            message: What came for it.

        Returns:
            Bytes for the server: keys, shares, a masked sum, a signature of whose sums arrived, or
            what opens one, by the stage.

        Raises:
            Refused: Nothing waits for this question.
        """
        stages, session = _of_stage(stage, round)
        known = self._waiting.get((stages[-1], client), [])
        waiting = next((one for one in known if one.client.round == session), None)
        if waiting is None:
            raise Refused(f"{stage}: this client has no work of round {round} that waits")
        if stage == OPENING:
            opened = weighted_scores(waiting.record, waiting.samples, decode_places(message))
            advertised = waiting.client.advertise()  # once: another list has no keys
            known[known.index(waiting)] = waiting._replace(message=opened)
            return advertised
        if stage == stages[0]:
            return waiting.client.share(message)
        if stage == stages[1]:
            return waiting.client.mask(
                message, lambda digits: vector_of(waiting.message, waiting.weight, digits)
            )
        if stage == stages[2]:
            return waiting.client.agree(message)
        known.remove(waiting)  # the last thing that it is asked
        return waiting.client.reveal(message)


class Protection(NamedTuple):
    """What hides a host's clients from the server."""

    secret: Secret | None = None  # where their secrets come from, if they add noise
    masking: Masking | None = None
    # whether scores of training samples leave: they are exact, and betray who was trained on, so
    # that noise against the server would be in vain
    train_scores: bool = True


UNPROTECTED = Protection()


def _of_stage(
    stage: Stage | ScoringStage, round: int
) -> tuple[tuple[Stage | ScoringStage, ...], int]:
    """The stages that one is of, and the number that their keys are for."""
    if stage in COUNT_STAGES:
        return COUNT_STAGES, of_counts(round)
    return (SCORE_STAGES, of_scores(round)) if stage in SCORING else (STAGES, round)
