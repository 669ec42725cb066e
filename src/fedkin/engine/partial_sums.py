"""Partial sums: messages stay with the host where they were made, and only their sum leaves it.

A round's messages are kept until the next question, since the coordinator learns from all answers
whose message counts, and may have to ask for the sum without somebody's. The sum of all of them is
taken as they come: nearly always it is the one that is asked for.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from fedkin.core.aggregation import Reply, Summed, WeightedSum, separate_kinds, summed_of
from fedkin.core.sums.exact import ExactSum, sum_of
from fedkin.core.tree import Tree, form_of
from fedkin.engine.codec import Counted, count, encode
from fedkin.engine.reply_spool import Spool


class PartialSums:
    """A host's messages of one round.

    Args:
        how: What of them is summed.
        aside: A folder for them, where they shall not all be in memory.
    """

    def __init__(self, how: Summed, aside: Path | None = None) -> None:
        self._how, self._aside = how, aside
        self._sizes: dict[Any, Counted] = {}
        self.clear()

    def clear(self) -> None:
        """A new question: nobody asks for the last one's messages any more."""
        self._kept: dict[int, Reply] = {}
        self._spool = None if self._aside is None else Spool(self._aside)
        # of groups nobody knows yet which sums are wanted
        self._whole = ExactSum() if isinstance(self._how, WeightedSum) else None
        self._in_whole: set[int] = set()

    def put(self, client: int, message: Tree, samples: float) -> tuple[bytes | None, Counted]:
        """Keep what is summed of a client's message.

        Args:
            client: Its number.
            message: As it would be sent.
            samples: Its number of training samples.

        Returns:
            What is not summed, encoded (None where there is nothing), and the size of the whole.
        """
        summed, rest = summed_of(self._how, message), separate_kinds(self._how, message)
        weight = self._how.weight_of(samples)
        if self._spool is None:
            self._kept[client] = Reply(summed, weight)
        else:
            self._spool.put(client, encode(summed), weight)
        self._add(client, summed, weight)
        return encode(rest) if rest else None, self._size(message)

    def sum(self, clients: Iterable[int]) -> ExactSum:
        """The sum of the messages of some clients.

        Args:
            clients: Those who left a message here since the last question.

        Returns:
            Sum and weight.
        """
        replies: Mapping[int, Reply] = self._kept if self._spool is None else self._spool
        asked = list(clients)
        if self._whole is not None and self._in_whole == set(asked):
            return self._handed_over(self._whole)
        return sum_of(replies[client] for client in asked)

    def whole(self) -> ExactSum | None:
        """The sum of all messages that are here; None where there is none, or only parts of it are
        wanted.

        Returns:
            Sum and weight; it is the caller's.
        """
        return (
            self._handed_over(self._whole) if self._whole is not None and self._in_whole else None
        )

    def _handed_over(self, whole: ExactSum) -> ExactSum:
        """Whoever gets a sum may use it up: the next one is taken anew."""
        self._whole = None
        return whole

    def _add(self, client: int, message: Tree, weight: float) -> None:
        if self._whole is None:
            return
        try:
            if client in self._in_whole:
                raise ValueError("one message a client is summed")
            self._whole.add(message, weight)
            self._in_whole.add(client)
        except Exception:  # it is said when the sum is asked for, which is then taken anew
            self._whole = None

    def _size(self, message: Tree) -> Counted:
        """The size of any message of this form is that of the first one."""
        form = form_of(message)
        if form not in self._sizes:
            self._sizes[form] = count(message, len(encode(message)))
        return self._sizes[form]
