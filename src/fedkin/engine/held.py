"""Messages that stay with the host where they were made: only their sum leaves it.

A round's messages are kept until the next question, since the coordinator learns from all answers
whose message counts, and may have to ask for the sum without somebody's.
"""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from torch import Tensor

from fedkin.core.aggregation import Reply, Summed, apart_of, summed_of
from fedkin.core.sums.exact import ExactSum, sum_of
from fedkin.core.tree import Tree, named_leaves
from fedkin.engine.codec import Counted, count, encode, outline
from fedkin.engine.reply_spool import Spool


class Held:
    """A host's messages of one round.

    Args:
        how: What of them is summed.
        aside: A folder for them, where they shall not all be in memory.
    """

    def __init__(self, how: Summed, aside: Path | None = None) -> None:
        self._how, self._aside = how, aside
        self._sizes: dict[Any, int] = {}
        self.clear()

    def clear(self) -> None:
        """A new question: nobody asks for the last one's messages any more."""
        self._kept: dict[int, Reply] = {}
        self._spool = None if self._aside is None else Spool(self._aside)

    def put(self, client: int, message: Tree, samples: float) -> tuple[bytes | None, Counted]:
        """Keep what is summed of a client's message.

        Args:
            client: Its number.
            message: As it would be sent.
            samples: Its number of training samples.

        Returns:
            What is not summed, encoded (None where there is nothing), and the size of the whole.
        """
        summed, rest = summed_of(self._how, message), apart_of(self._how, message)
        if self._spool is None:
            self._kept[client] = Reply(summed, samples)
        else:
            self._spool.put(client, encode(summed), samples)
        return encode(rest) if rest else None, count(message, self._size(message))

    def sum(self, clients: Iterable[int]) -> ExactSum:
        """The sum of the messages of some clients.

        Args:
            clients: Those who left a message here since the last question.

        Returns:
            Sum and weight.
        """
        replies: Mapping[int, Reply] = self._kept if self._spool is None else self._spool
        found = (replies[client] for client in clients)
        return sum_of((message, self._how.weight_of(samples)) for message, samples in found)

    def _size(self, message: Tree) -> int:
        """Bytes of the encoded message: those of any other one with its outline and shapes."""
        shapes = tuple(
            (leaf.dtype, leaf.shape)
            for _, leaf in named_leaves(message)
            if isinstance(leaf, Tensor)
        )
        key = json.dumps(outline(message)), shapes
        if key not in self._sizes:
            self._sizes[key] = len(encode(message))
        return self._sizes[key]
