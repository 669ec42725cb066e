"""Messages to clients: encoded once for a server state, counted for everybody who gets them."""

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from fedkin.core.errors import FedkinError, named_line, some
from fedkin.core.kinds import KINDS
from fedkin.core.tree import Tree, named_leaves
from fedkin.engine.codec import Counted, count, encode, outline
from fedkin.engine.method_calls.server_errors import FailedAtServer
from fedkin.engine.op import Task, TaskResult
from fedkin.runs.record import Sent

FEW = 4  # different messages that are kept for the next question about the same state
OF_A_STATE = (LookupError, TypeError, AttributeError)  # what a state without an entry leads to


class _Message(NamedTuple):
    """What a client is sent. ``number``: equal for clients who get the same."""

    number: int
    content: Tree
    blob: bytes
    size: Counted


class Broadcasts:
    """What a method sends to its clients.

    An evaluation and the round after it ask about one server state: their messages are the same.

    Args:
        of: The method's ``broadcast``: server state, client → its message.
    """

    def __init__(self, of: Callable[[Tree, int], Tree]) -> None:
        self._of = of
        self._state: Tree = None
        self._has = _entries(None)
        self._had: str | None = None  # what the last state had that a message could be made of
        self._messages: dict[int, _Message] = {}
        self._distinct: dict[Any, _Message] = {}  # by their outlines and leaves
        self._seen: dict[Any, _Message] = {}  # by the objects on top, which most clients share

    def tasks(
        self, state: Tree, clients: Sequence[int], sent: list[Sent]
    ) -> tuple[list[Task], dict[int, Tree]]:
        """What each client is asked with.

        Args:
            state: Of the server.
            clients: Their numbers.
            sent: The ledger, to which each message is added: which is the first copy, is noted.

        Returns:
            Tasks in the order of ``clients``, and client → its message.
        """
        if state is not self._state:
            self._begin(state)
        tasks, contents = [], {}
        gone: set[int] = set()
        for client in clients:
            message = self._messages.get(client) or self._message(client)
            copy = int(message.number in gone)
            gone.add(message.number)
            sent.append(Sent(client, "down", copy, *message.size))
            tasks.append(Task(client, message.blob))
            contents[client] = message.content
        if len(self._distinct) > FEW:  # a model a client: memory holds them once
            self._begin(None)
        return tasks, contents

    def _begin(self, state: Tree) -> None:
        """What is known is of this state from now on."""
        self._state, self._has = state, _entries(state)
        for known in (self._messages, self._distinct, self._seen):
            known.clear()

    def _message(self, client: int) -> _Message:
        content = self._made(client)
        parts = content.items() if isinstance(content, dict) else [("", content)]
        objects = tuple((name, id(part)) for name, part in parts)
        message = self._seen.get(objects)
        if message is None:
            message = self._seen[objects] = self._encoded(content)
        # its own content keeps the objects alive by whose id it was found
        message = self._messages[client] = message._replace(content=content)
        return message

    def _made(self, client: int) -> Tree:
        """The message of the state.

        Raises FedkinError where it is none; also where it fails on what an update made of a state
        that it did well with.
        """
        has = self._has
        try:
            content = self._of(self._state, client)
            _check(content)
        except (*OF_A_STATE, FedkinError) as error:
            if self._had in (None, has) or not _of_the_state(error):
                raise
            raise FailedAtServer(
                f"the server's state has {has} after its update, and had {self._had} before, which "
                f"broadcast needs ({_said(error)}): server_update returns the whole new state"
            ) from error
        self._had = has
        return content

    def _encoded(self, content: Tree) -> _Message:
        leaves = tuple(_identity(leaf) for _, leaf in named_leaves(content))
        wire = json.dumps(outline(content)), leaves
        message = self._distinct.get(wire)
        if message is None:
            blob = encode(content)
            size = count(content, len(blob))
            message = self._distinct[wire] = _Message(len(self._distinct), content, blob, size)
        return message


def _check(content: Tree) -> None:
    """Refuse what is no message: the ledger counts by kind."""
    if not isinstance(content, dict):
        raise FedkinError(
            f"broadcast returns a {type(content).__name__}, not a message {{kind: …}}"
        )
    other = [name for name in content if name not in KINDS]
    if other:
        raise FedkinError(
            f"broadcast returns a message with {some(map(repr, other))}: its top level must be "
            f"among {list(KINDS)}"
        )


def _of_the_state(error: Exception) -> bool:
    """Whether an exception of ``broadcast`` may come of entries that a state has no more."""
    return not isinstance(error, FailedAtServer) or isinstance(error.__cause__, OF_A_STATE)


def _said(error: Exception) -> str:
    return str(error) if isinstance(error, FedkinError) else named_line(error)


def _entries(state: Tree) -> str:
    """What is on top of a state, in words."""
    if not isinstance(state, dict):
        return f"no entries (it is a {type(state).__name__})"
    return some(map(repr, state)) or "no entries"


def reaching(answers: Iterable[TaskResult], lost: set[int]) -> Iterator[TaskResult]:
    """Answers as they come, and in ``lost`` the clients whom their tasks never reached.

    Args:
        answers: What clients answered.
        lost: Numbers are added to it.

    Yields:
        The answers.
    """
    for answer in answers:
        if not answer.reached:
            lost.add(answer.client)
        yield answer


def withdraw_tasks(sent: list[Sent], tasks: Sequence[Task], lost: Collection[int]) -> None:
    """Take tasks that reached nobody out of the ledger; the first of the others who were sent the
    same has its first copy then.

    Args:
        sent: The ledger of the round; messages down in it are those of ``tasks``.
        tasks: As they were asked.
        lost: Whom they never reached.
    """
    if not lost:
        return
    blobs = {task.client: id(task.message) for task in tasks}
    seen: set[int] = set()
    kept = []
    for item in sent:
        if item.direction == "down" and item.client in lost:
            continue
        if item.direction == "down":
            item = item._replace(copy=int(blobs[item.client] in seen))
            seen.add(blobs[item.client])
        kept.append(item)
    sent[:] = kept


def _identity(leaf: Any) -> Any:
    """Equal for leaves of one kind that are the same bytes: to Python 1 is 1.0, and 0.0 is -0.0."""
    if hasattr(leaf, "data_ptr"):
        return leaf.data_ptr(), tuple(leaf.shape), leaf.stride(), leaf.dtype
    return int(leaf) if isinstance(leaf, int) else repr(leaf)
