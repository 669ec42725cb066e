"""Replies of nodes, taken from the SuperLink one by one: what one of them is, and how long it
takes to arrive, concerns its sender alone.
"""

import threading
import time
from collections import deque
from collections.abc import Callable, Iterable

from flwr.app import Message

from fedkin.flower.envelope import Refused, cleaned
from fedkin.flower.records import unpack

PATIENCE = 1.0  # seconds that the others wait while one reply is taken

Parts = list[bytes]  # a header, and the messages of the codec beside it
Pull = Callable[[str], Parts | str | None]  # a message → its reply or why it is none; None: not yet


class Pulls:
    """Replies to the messages of one exchange, each taken by a thread of its own once it is slow.

    Flower's call for a reply returns when all of it is there, however long its sender takes. So a
    thread looks at one message after the other; where it is held, the next one goes on with the
    rest. There are never more threads than messages.

    Args:
        pull: Takes the reply to a message, as Flower does.
    """

    def __init__(self, pull: Pull) -> None:
        self._pull = pull
        self._changed = threading.Condition()
        self._todo: deque[str] = deque()
        self._busy: dict[str, float] = {}  # message → since when its reply is being taken
        self._found: dict[str, Parts | str] = {}
        self._failed: Exception | None = None
        self._over = False

    def look(self, waiting: Iterable[str]) -> dict[str, Parts | str]:
        """Look for replies, for PATIENCE seconds at most.

        Args:
            waiting: Messages that have no reply yet.

        Returns:
            message → its reply, or why there is none: what was found since the last look.

        Raises:
            Exception: The SuperLink does not answer any more.
        """
        end = time.monotonic() + PATIENCE
        with self._changed:
            if not self._todo:  # else the last look did not come to its end
                known = {*self._busy, *self._found}
                self._todo.extend(one for one in waiting if one not in known)
            while (now := time.monotonic()) < end:
                fresh = [since for since in self._busy.values() if now - since < PATIENCE]
                if fresh:
                    self._changed.wait(min(end, max(fresh) + PATIENCE) - now)
                elif self._todo:
                    self._begin()
                else:
                    break
            if self._failed is not None:
                raise self._failed
            replies, self._found = self._found, {}
            return replies

    def end(self) -> set[str]:
        """Nothing more is looked for, and what arrives from now on is dropped.

        Returns:
            Messages whose reply is still being taken: nobody can stop that.
        """
        with self._changed:
            self._over = True
            self._todo.clear()
            self._found.clear()
            return set(self._busy)

    def held(self) -> set[str]:
        """Messages whose reply is being taken now.

        Returns:
            Ids of messages.
        """
        with self._changed:
            return set(self._busy)

    def _begin(self) -> None:
        thread = threading.Thread(target=self._work, args=[self._next()], daemon=True)
        thread.start()

    def _next(self) -> str:
        message = self._todo.popleft()
        self._busy[message] = time.monotonic()
        return message

    def _work(self, message: str) -> None:
        while True:
            reply, failed = None, None
            try:
                reply = self._pull(message)
            except Exception as error:
                failed = error
            with self._changed:
                del self._busy[message]
                self._failed = self._failed or failed
                if reply is not None and not self._over:
                    self._found[message] = reply
                self._changed.notify()
                if not self._todo:
                    return
                message = self._next()


def reply_parts(replies: list[Message], message: str, node: int, limit: int) -> Parts | str:
    """The reply to a message as byte strings, or Flower's error in its place.

    What a reply says of itself was written by its sender: it must agree with what was asked.

    Args:
        replies: What Flower gave for ``message`` alone.
        message: Id of the request.
        node: That it went to.
        limit: Bytes of the reply, at most.

    Returns:
        Its parts, or why there are none.

    Raises:
        Refused: It is another's, more than one, or too large.
    """
    if len(replies) != 1:
        raise Refused(f"{len(replies)} replies came to one message")
    (reply,) = replies
    if reply.metadata.reply_to_message_id != message:
        raise Refused("its reply is to another message")
    if reply.has_error():
        reason = reply.error.reason or ""
        return cleaned(f"its node failed (Flower error {reply.error.code}): {reason}")
    if reply.metadata.src_node_id != node:
        raise Refused("its reply came from another node")
    return unpack(reply.content, limit)
