"""The messages of a round that count, wherever they lie, and what of them reached the server."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import NoReturn

from fedkin.core.aggregation import Reply
from fedkin.core.errors import FedkinError
from fedkin.core.method import Method
from fedkin.core.sums.exact import ExactSum
from fedkin.core.sums.replies import RemoteReplies
from fedkin.core.tree import Tree
from fedkin.engine.acceptance import Accepted, accepted, accepted_held, check_version, far_off
from fedkin.engine.codec import NOT_FINITE, BadMessage, count, encode
from fedkin.engine.op import TaskResult
from fedkin.engine.reply_spool import Spool
from fedkin.engine.round.divergence import all_diverged, diverged
from fedkin.engine.round.federation import Federation
from fedkin.engine.round.progress import RoundProgress
from fedkin.engine.server_guard import without
from fedkin.engine.transports.base import Transport
from fedkin.runs.record import Moved, Sent

Expected = Callable[[int], Tree]  # client → the form that its message must have


class Receiver:
    """Looks at a round's messages as they arrive.

    Args:
        method: Whose messages they are.
        federation: Of whom.
        transport: Where sums of messages are that stay with their hosts.
        aside: A folder for messages, where they shall not all be in memory.
        needed: Round → how many usable replies it needs.
    """

    def __init__(
        self,
        method: Method,
        federation: Federation,
        transport: Transport,
        aside: Path | None,
        needed: Callable[[int], int],
    ) -> None:
        self.method, self.federation = method, federation
        self.transport, self.aside, self.needed = transport, aside, needed
        self._moved = Moved()

    def usable(
        self, answers: Iterable[TaskResult], expected: Expected, course: RoundProgress
    ) -> Mapping[int, Reply]:
        """The messages that can be used.

        Args:
            answers: As they arrive.
            expected: The form of a client's message.
            course: Of the round: each message is added to what was sent, and whose cannot be used
                is noted as missing, with the reason.

        Returns:
            Replies in client order.

        Raises:
            FedkinError: There are too few of them.
        """
        sent, missing, number = course.sent, course.missing, course.number
        kept: dict[int, Reply] = {}
        largest: dict[int, dict[str, float]] = {}
        spool = None if self.aside is None else Spool(self.aside)
        remote = False
        for answer in answers:
            remote |= answer.held is not None
            try:
                check_version(answer, number - 1)
                reply, largest[answer.client] = self._accept(answer, expected, sent)
                self._moved = self._moved.with_one(len(answer.message or b""))
                if spool is None or answer.held is not None:
                    kept[answer.client] = reply
                else:
                    # not the sender's bytes, whose entries may be in another order
                    spool.put(answer.client, encode(reply.message), reply.weight)
            except BadMessage as error:
                missing[answer.client] = str(error)
        # what one client sends must not decide whether another counts, where that is protected
        off = {} if self.federation.poisson else far_off(largest)
        missing |= off
        whole = spool is None or remote
        found: Mapping[int, Reply] = dict(sorted(kept.items())) if whole else spool or {}
        if remote:
            found = RemoteReplies(found, self._summed)
        replies = without(found, off) if off else found
        if len(replies) < self.needed(number):
            self.too_few(len(replies), missing, number)
        sent.sort(key=lambda item: (item.direction, item.client))
        return replies

    def moved(self) -> Moved:
        """What reached the server since this was asked the last time.

        Returns:
            Messages and bytes; 0 of both where nothing came.
        """
        since_last, self._moved = self._moved, Moved()
        return since_last

    def too_few(self, usable: int, missing: Mapping[int, str], number: int) -> NoReturn:
        """End a round that has too few replies.

        Args:
            usable: How many.
            missing: Client → why it was left out.
            number: Of the round.

        Raises:
            FedkinError: Always.
        """
        reasons = "; ".join(
            f"{self.federation.named(client)}: {why}" for client, why in sorted(missing.items())[:3]
        )
        if all_diverged(missing.values()):
            raise FedkinError(diverged(number, f"{NOT_FINITE} in every reply", self.method))
        least = self.needed(number)
        raise FedkinError(
            f"round {number}: {usable} usable replies, at least {least} needed. {reasons}"
        )

    def _accept(self, answer: TaskResult, expected: Expected, sent: list[Sent]) -> Accepted:
        method, info = self.method, self.federation.infos[answer.client]
        if answer.held is not None:
            held = accepted_held(method, info, answer)
            sizes = answer.held["scalars"], answer.held["bytes"]
            sent.append(Sent(answer.client, "up", 0, *sizes))
            return held
        result = accepted(method, info, answer, expected(answer.client))
        assert answer.message is not None
        sent.append(Sent(answer.client, "up", 0, *count(result.reply.message, len(answer.message))))
        return result

    def _summed(self, clients: Sequence[int]) -> ExactSum:
        """The sum of messages that stayed with their hosts."""
        total = ExactSum()
        for part in self.transport.sums(clients):
            self._moved = self._moved.with_one(part.nbytes)
            total.merge(part)
        return total
