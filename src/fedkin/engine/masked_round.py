"""Messages of one round under masks: the coordinator's side, from keys to the sum."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from fedkin.core.aggregation import Mean, WeightedSum
from fedkin.core.errors import FedkinError
from fedkin.core.kinds import KINDS
from fedkin.core.method import ClientInfo, Method
from fedkin.core.tree import Tree
from fedkin.engine.acceptance import check_version
from fedkin.engine.codec import BadMessage, check_kinds, count
from fedkin.engine.masked_numbers import FEWEST, digits_for, mean_of, size_of
from fedkin.engine.masked_scores import (
    DIGITS,
    Means,
    blank_counts,
    blank_scores,
    client_counts,
    encode_places,
    means_of,
    revealed_places,
)
from fedkin.engine.op import (
    COUNT_STAGES,
    OPENING,
    SCORE_STAGES,
    STAGES,
    Opening,
    ScoringStage,
    Stage,
    Task,
    TaskResult,
)
from fedkin.engine.round.broadcasts import reaching, withdraw_tasks
from fedkin.engine.transports.base import Transport
from fedkin.masks.server import MaskedSum
from fedkin.masks.signatures import Verify, broadcast_digest
from fedkin.masks.terms import Terms, named, of_counts, of_scores
from fedkin.masks.wire import NoSum, Refused
from fedkin.runs.record import Sent

NOTHING = dict.fromkeys(KINDS, 0)


@dataclass
class MaskedRound:
    """One round of clients whose messages nobody may see.

    stages: what they are asked, in order. number: of the round. session: the number that their keys
    are for. threshold: t. like: what each client's message looks like. weights: of each client that
    is asked. digits: that carry a number. scalars: of a message, by kind. verify: knows the
    signatures of their keys and of who survived, None where nobody signs. sent_digest: of what all
    of them were sent first, which is signed too. sent: every message of the protocol. missing:
    who is not in the sum, with the reason.
    """

    stages: Sequence[Stage | ScoringStage]
    number: int
    session: int
    threshold: int
    like: Tree
    weights: Mapping[int, float]
    digits: int
    scalars: Mapping[str, int]
    verify: Verify | None = None
    sent_digest: bytes = b""
    sent: list[Sent] = field(default_factory=list)
    missing: dict[int, str] = field(default_factory=dict)

    def mean(self, transport: Transport, worked: Iterable[TaskResult]) -> Mean:
        """The mean of the messages, from the answers to the round's work on.

        Args:
            transport: Reaches the clients.
            worked: Their answers to the round's work: public keys.

        Returns:
            The mean of those who are in the sum.

        Raises:
            FedkinError: Fewer than the threshold are left at some stage.
            NoSum: One of them lies.
        """
        try:
            return self._mean(transport, worked)
        except NoSum:
            raise
        except FedkinError as error:
            first = [f"client {one}: {why}" for one, why in sorted(self.missing.items())[:3]]
            raise FedkinError("; ".join([str(error), *first])) from None

    def begun(self, transport: Transport, op: Opening, message: bytes) -> list[TaskResult]:
        """Ask everybody for public keys with one message, where no work of theirs begins the round.

        Args:
            transport: Reaches the clients.
            op: What they are asked.
            message: The same for all.

        Returns:
            Answers for ``mean``.
        """
        tasks, lost = [Task(client, message) for client in self.weights], set[int]()
        sent = [
            Sent(task.client, "down", int(at > 0), dict(NOTHING), len(message))
            for at, task in enumerate(tasks)
        ]
        answers = list(reaching(transport.ask(op, self.number, tasks), lost))
        withdraw_tasks(sent, tasks, lost)
        self.sent += sent
        return answers

    def _mean(self, transport: Transport, worked: Iterable[TaskResult]) -> Mean:
        shares, masked, agree, reveal = self.stages
        terms = Terms(self.session, self.threshold, self.digits * size_of(self.like))
        server = MaskedSum(terms, self.weights, self.digits, self.verify, self.sent_digest)
        self._take(worked, server.advertised)
        roster = server.roster()
        self._ask(transport, shares, dict.fromkeys(server.advertising, roster), server.shared)
        sharing = {client: server.delivery(client) for client in server.sharing}
        self._ask(transport, masked, sharing, server.masked, self.scalars)
        asking = server.asking()
        if self.verify is not None:
            self._ask(transport, agree, dict.fromkeys(server.survivors, asking), server.agreed)
            asking = server.signed()
        self._ask(transport, reveal, dict.fromkeys(server.revealing, asking), server.revealed)
        clients = tuple(server.survivors)
        weight = sum(self.weights[client] for client in clients)
        total = server.total()
        try:
            mean = mean_of(total, self.like, weight, len(clients))
        except NoSum as error:
            raise NoSum(f"{named(self.session)}: {error}") from None
        for client in clients:  # who is in the sum took part, however it went on
            self.missing.pop(client, None)
        return Mean(clients, mean, {}, weight)

    def _ask(
        self,
        transport: Transport,
        stage: Stage | ScoringStage,
        messages: Mapping[int, bytes],
        take: Callable[[int, bytes], None],
        scalars: Mapping[str, int] = NOTHING,
    ) -> None:
        began, lost = len(self.sent), set[int]()
        seen: set[bytes] = set()
        for client, blob in messages.items():
            self.sent.append(Sent(client, "down", int(blob in seen), dict(NOTHING), len(blob)))
            seen.add(blob)
        tasks = [Task(client, blob) for client, blob in messages.items()]
        answers = reaching(transport.ask(stage, self.number, tasks), lost)
        self._take(answers, take, scalars)
        this = self.sent[began:]
        withdraw_tasks(this, tasks, lost)
        self.sent[began:] = this

    def _take(
        self,
        answers: Iterable[TaskResult],
        take: Callable[[int, bytes], None],
        scalars: Mapping[str, int] = NOTHING,
    ) -> None:
        for answer in answers:
            client = answer.client
            try:
                if answer.message is None:
                    raise Refused(answer.error or "no message")
                check_version(answer, self.number - 1)
                take(client, answer.message)
            except (Refused, BadMessage) as error:
                self.missing[client] = str(error)
                continue
            size = len(answer.message)
            self.sent.append(Sent(client, "up", 0, dict(scalars), size))


def digest_of_sent(tasks: Sequence[Task], verify: Verify | None) -> bytes:
    """The digest of the one message that all clients were sent, where they sign it.

    Args:
        tasks: Of all of them.
        verify: None where nobody signs.

    Returns:
        Its sha256, 32 bytes; none where nobody signs.

    Raises:
        FedkinError: They were sent different messages, which they could not compare.
    """
    if verify is None:
        return b""
    messages = {id(task.message): task.message for task in tasks}
    digests = {broadcast_digest(message) for message in messages.values()}
    if len(digests) > 1:
        raise FedkinError(
            "[privacy] secure_aggregation: the method sends clients different messages, and nodes "
            "reveal a sum only of clients who were sent the same: take a method that sends one"
        )
    return digests.pop()


def of_updates(
    method: Method,
    infos: Mapping[int, ClientInfo],
    threshold: int,
    number: int,
    expected: Mapping[int, Tree],
    verify: Verify | None,
    sent_digest: bytes,
) -> MaskedRound:
    """A round's updates.

    Args:
        method: Declares the sum.
        infos: Of the clients; what they said of their samples before training weighs them.
        threshold: t.
        number: Of the round.
        expected: What each client's message must look like.
        verify: Knows signatures.
        sent_digest: As ``digest_of_sent`` says.

    Returns:
        The round, of which nobody has been asked yet.

    Raises:
        FedkinError: Clients send messages of different forms.
    """
    how = method.aggregation
    assert isinstance(how, WeightedSum)
    like = _one_of_all(expected, method)
    weights = {client: how.weight_of(float(infos[client].samples)) for client in expected}
    digits = digits_for(max(weights.values()))
    scalars = count(like, 0).scalars
    return MaskedRound(
        STAGES, number, number, threshold, like, weights, digits, scalars, verify, sent_digest
    )


def of_evaluation(
    clients: Iterable[int],
    threshold: int,
    number: int,
    verify: Verify | None,
    sent_digest: bytes,
) -> MaskedRound:
    """How many clients have which scores of an evaluation.

    Args:
        clients: Who is asked.
        threshold: t.
        number: Of the round after which they are evaluated.
        verify: Knows signatures.
        sent_digest: As ``digest_of_sent`` says.

    Returns:
        The round, of which nobody has been asked yet.
    """
    weights = dict.fromkeys(clients, 1.0)
    session, like = of_counts(number), blank_counts()
    return MaskedRound(
        COUNT_STAGES,
        number,
        session,
        threshold,
        like,
        weights,
        FEWEST,
        NOTHING,
        verify,
        sent_digest,
    )


def scored(counting: MaskedRound, transport: Transport, answers: Iterable[TaskResult]) -> Means:
    """The federation's scores, from the answers to an evaluation on.

    Args:
        counting: As ``of_evaluation`` makes it; it is given the messages of both sums, and who is
            in one of them alone.
        transport: Reaches the clients.
        answers: Public keys.

    Returns:
        Means over the clients that have a score, and how many those are.

    Raises:
        FedkinError: Fewer than the threshold are left at some stage.
        NoSum: One of them lies.
    """
    presence = counting.mean(transport, answers)
    counted = client_counts(presence.mean, len(presence.clients))
    places = revealed_places(counted, counting.threshold)
    if not places:
        return means_of(counted)
    adding = MaskedRound(
        SCORE_STAGES,
        counting.number,
        of_scores(counting.number),
        counting.threshold,
        blank_scores(places),
        dict.fromkeys(presence.clients, 1.0),  # they weigh themselves
        DIGITS,
        NOTHING,
        counting.verify,
        counting.sent_digest,
    )
    try:
        sums = adding.mean(transport, adding.begun(transport, OPENING, encode_places(places)))
    finally:  # what was sent counts, whatever came of it
        counting.sent += adding.sent
        counting.missing |= adding.missing
    return means_of(counted, places, sums.mean, len(sums.clients))


def _one_of_all(expected: Mapping[int, Tree], method: Method) -> Tree:
    """What every client's message looks like; they are added number by number."""
    like = next(iter(expected.values()))
    check_kinds(like, method.name)
    if len({size_of(one) for one in expected.values()}) > 1:
        raise FedkinError(
            f"[privacy] secure_aggregation adds messages of one form, and clients of {method.name} "
            "send different ones"
        )
    return like
