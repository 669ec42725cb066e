"""Requests to the nodes of a Flower federation, and what comes back: replies from the right node,
or reasons.
"""

import math
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, NamedTuple, Protocol

from flwr.app import Message

from fedkin.core.counts import without_rounding_error
from fedkin.core.errors import named_line
from fedkin.engine.op import CHANGING
from fedkin.flower.config import Deployment
from fedkin.flower.envelope import (
    HEADER_BYTES,
    NodeReply,
    ProtocolVersion,
    Refused,
    Request,
    cleaned,
    opened,
    protocol_version,
    sealed,
)
from fedkin.flower.pulls import Parts, Pulls, reply_parts
from fedkin.flower.records import pack

KIND = "train.fedkin"
SKEW = 3.0  # seconds between two clocks, from which it is said: Flower refuses 5 of them ahead
LATE = 60  # seconds that a message outlives its deadline in the SuperLink
MOST_HELD = 3  # replies of one node that are still being received, at most
PACE = 0.01  # seconds between two looks for each reply that is waited for: a look is a request each

Reply = tuple[NodeReply, list[bytes]]  # of a node, with its messages
Between = Callable[[Collection[str]], None]  # names that have not replied yet → what is done then
Enough = Callable[[Collection[str]], bool]  # names that replied → whether their round can count


def _nothing(names: Collection[str]) -> None:
    """Where nobody wants to know who is waited for."""


class Grid(Protocol):
    """What is used of Flower's Grid."""

    def get_nodes(self) -> Iterable[Any]:
        """The nodes that the SuperLink knows.

        Returns:
            Each with "node_id", "name" and "status".
        """

    def push_messages(self, messages: Iterable[Message]) -> Iterable[str]:
        """Send messages to nodes.

        Args:
            messages: Each to one node.

        Returns:
            An id a message, by which its reply is pulled.
        """

    def pull_messages(self, message_ids: Iterable[str]) -> Iterable[Message]:
        """Take replies that are there.

        Args:
            message_ids: Of messages that were sent.

        Returns:
            As many as have arrived.
        """


class RunIdentity(NamedTuple):
    """What every request says."""

    experiment: str
    run: str
    version: str


class Dispatcher:
    """Requests to clients by their names, replies or reasons back, before the deadline.

    Args:
        grid: Flower's.
        deployment: Its configuration.
        about: What every request says.
    """

    def __init__(self, grid: Grid, deployment: Deployment, about: RunIdentity) -> None:
        self.grid, self.deployment, self.about = grid, deployment, about
        # node → the client it says it is; used only where nodes are not registered
        self._introduced: dict[int, str] = {}
        self._duplicates: dict[str, list[int]] = {}  # names that several nodes go by
        self._late: list[tuple[Pulls, dict[str, int]]] = []  # of exchanges that are over
        self.remarks: list[str] = []  # what the operator should know
        self.reached: set[str] = set()  # names to whom the last exchange's requests were sent

    def request(self, name: str, **content: Any) -> Request:
        """A request of this run to a client.

        Args:
            name: Of the client.
            **content: Further fields of the request.

        Returns:
            A request with fedkin's version, the experiment's digest and the run's id.
        """
        return Request(
            version=self.about.version,
            experiment=self.about.experiment,
            run=self.about.run,
            name=name,
            **content,
        )

    def exchange(
        self,
        requests: Mapping[str, tuple[Request, bytes | None]],
        deadline: float | None = None,
        enough: Enough = bool,
        between: Between = _nothing,
    ) -> dict[str, Reply | str]:
        """name → (reply, its messages), or in one sentence why there is none.

        Args:
            requests: name → (request, its message; None where there is none).
            deadline: Seconds that a client has; None: the deployment's.
            enough: Of the names that replied, whether a quorum of them may close the round.
            between: Is called with the names that are waited for between two looks for replies, and
                ends the exchange by whatever it raises.

        Returns:
            An entry for each name that was asked.
        """
        deadline = deadline or self.deployment.deadline
        nodes = self.nodes()
        replies: dict[str, Reply | str] = {}
        messages: dict[str, Message] = {}
        for name, (request, blob) in requests.items():
            if name not in nodes:
                replies[name] = self.why_unreachable(name)
                continue
            content = pack([sealed(request), *([] if blob is None else [blob])])
            messages[name] = Message(
                content, nodes[name], KIND, ttl=deadline + LATE, group_id=self.about.run
            )
        sent = time.time()

        def read(name: str, parts: Parts) -> Reply | str:
            request = requests[name][0]
            reply = self._open(parts, request)
            # work asks for no clock: a node that told one all the same could say something a round
            if not isinstance(reply, str) and reply[0].clock is not None and not request.steps:
                self.remarks += skew_remarks(name, reply[0].clock, sent, time.time())
            return reply

        soft = self._soft(requests)
        limit = self.deployment.max_bytes + HEADER_BYTES
        return replies | self._send(messages, read, deadline, limit, soft, enough, between)

    def nodes(self) -> dict[str, int]:
        """name → node of the clients that are connected, each by one node.

        Returns:
            Names of the deployment alone; of several nodes with one name none.
        """
        online = [node for node in self.grid.get_nodes() if node.status == "online"]
        if not self.deployment.insecure:
            names = [(node.name, node.node_id) for node in online]
        else:
            names = self._ask_names([node.node_id for node in online])
        by_name: dict[str, list[int]] = {}
        for name, node in names:
            by_name.setdefault(name, []).append(node)
        self._duplicates = {name: nodes for name, nodes in by_name.items() if len(nodes) > 1}
        known = set(self.deployment.clients) - self._duplicates.keys()
        return {name: node for name, node in names if name in known}

    def why_unreachable(self, name: str) -> str:
        """Why a client has no node.

        Args:
            name: Of the client.

        Returns:
            A sentence.
        """
        if name in self._duplicates and self.deployment.insecure:
            return f"several nodes say that they are {name}: stop all but one"
        if name in self._duplicates:
            numbers = ", ".join(map(str, self._duplicates[name]))
            return (
                f"several nodes are connected as {name} ({numbers}): revoke a key that is not its "
                "own, flwr supernode unregister NUMBER deployment (docs/deploy.md, A key that is "
                "lost)"
            )
        return "its node is not connected"

    def _ask_names(self, nodes: list[int]) -> list[tuple[str, int]]:
        """Without registration a node is who it says it is: good enough on one's own machine, and
        only there.
        """
        new = {str(node): node for node in nodes if node not in self._introduced}
        hello = [sealed(self.request(""))]
        messages = {
            key: Message(pack(hello), node, KIND, ttl=60 + LATE) for key, node in new.items()
        }

        def read(key: str, parts: Parts) -> Reply | str:
            try:
                return opened(NodeReply, parts[0]), []
            except Refused as error:
                return str(error)

        for key, reply in self._send(messages, read, 60, HEADER_BYTES).items():
            if not isinstance(reply, str):
                self._introduced[new[key]] = reply[0].name
        return [(self._introduced[node], node) for node in nodes if node in self._introduced]

    def _soft(self, requests: Mapping[str, tuple[Request, bytes | None]]) -> float:
        """Seconds after which a quorum closes a round; what is no work waits for everybody."""
        work = all(request.steps for request, _ in requests.values())
        soft = self.deployment.soft_deadline
        return soft if work and soft is not None else math.inf

    def _send(
        self,
        messages: Mapping[str, Message],
        read: Callable[[str, Parts], Reply | str],
        deadline: float,
        limit: int,
        soft: float = math.inf,
        enough: Enough = bool,
        between: Between = _nothing,
    ) -> dict[str, Reply | str]:
        """Push all, then look for replies until all are there or the time is over; each is read
        when it comes.

        After ``soft`` seconds a quorum of replies without errors closes the round, where it is
        ``enough``.
        """
        began = time.monotonic()
        needed = math.ceil(without_rounding_error(self.deployment.quorum * len(messages)))
        replies: dict[str, Reply | str] = dict.fromkeys(
            self._overloaded(messages), "its earlier replies are still on their way"
        )
        sent = {name: one for name, one in messages.items() if name not in replies}
        ids = list(self.grid.push_messages(list(sent.values()))) if sent else []
        waiting = {id: name for id, name in zip(ids, sent) if id}
        self.reached = set(waiting.values())
        replies |= dict.fromkeys(sent.keys() - waiting.values(), "its message could not be sent")
        nodes = {id: messages[name].metadata.dst_node_id for id, name in waiting.items()}
        pulls = Pulls(lambda id: self._pull(id, nodes[id], limit))
        try:
            while waiting:
                for id, parts in pulls.look(waiting).items():
                    name = waiting.pop(id)
                    replies[name] = parts if isinstance(parts, str) else read(name, parts)
                gone = time.monotonic() - began
                usable = [name for name, reply in replies.items() if _without_errors(reply)]
                closed = gone > soft and len(usable) >= needed and enough(usable)
                if waiting and (gone > deadline or closed):
                    why = f"no reply within {deadline:g} seconds"
                    if gone <= deadline:
                        others = f"{len(usable)} others had replied"
                        why = f"no reply within {soft:g} seconds, when {others}"
                    held = pulls.held()
                    return replies | {
                        name: f"{why}: it is on its way, and not whole" if id in held else why
                        for id, name in waiting.items()
                    }
                if waiting:
                    between(list(waiting.values()))
                    time.sleep(max(self.deployment.poll, PACE * len(waiting)))
            return replies
        finally:
            if pulls.end():
                self._late.append((pulls, nodes))

    def _pull(self, id: str, node: int, limit: int) -> Parts | str | None:
        """The reply to one message, if it is there. Whatever it is, it ends no run."""
        try:
            replies = list(self.grid.pull_messages([id]))
            return reply_parts(replies, id, node, limit) if replies else None
        except Refused as error:
            return str(error)
        except Exception as error:
            self.grid.get_nodes()  # raises where it is the SuperLink that fails, and no reply
            return cleaned(f"its reply cannot be read: {named_line(error)}")

    def _overloaded(self, messages: Mapping[str, Message]) -> list[str]:
        """Names whose node sends nothing to its end: each reply takes a thread meanwhile."""
        self._late = [late for late in self._late if late[0].held()]
        held = Counter(nodes[id] for pulls, nodes in self._late for id in pulls.held())
        return [
            name
            for name, message in messages.items()
            if held[message.metadata.dst_node_id] >= MOST_HELD
        ]

    def _open(self, parts: Parts, request: Request) -> tuple[NodeReply, list[bytes]] | str:
        """A reply of the right client, run and round; else the reason against it."""
        try:
            header, *blobs = parts
            if (declared := protocol_version(header)) is not None:
                if declared.error is not None:
                    return declared.error
                _check_same(declared, request, "protocol", "version")
            reply = opened(NodeReply, header)
            _check_same(reply, request, "experiment", "run", "name")
            if [(done.op, done.round) for done in reply.steps] != [
                (step.op, step.round) for step in request.steps
            ]:
                shown = ", ".join(f"{done.op} {done.round}" for done in reply.steps)
                raise Refused(f"its reply is of another round or work: {shown}")
            states_follow(request, reply)
            if len(blobs) != sum(done.message for done in reply.steps):
                raise Refused("its reply has not the messages that it names")
            for blob in blobs:
                if len(blob) > self.deployment.max_bytes:
                    raise Refused(
                        f"message of {len(blob)} bytes, more than the "
                        f"{self.deployment.max_bytes} allowed"
                    )
        except Refused as error:
            return str(error)
        return reply, blobs


def _without_errors(reply: Reply | str) -> bool:
    """Whether a node did all that it was asked for."""
    return not isinstance(reply, str) and all(done.error is None for done in reply[0].steps)


def skew_remarks(name: str, clock: float, sent: float, received: float) -> list[str]:
    """What to say of a node's clock, which showed ``clock`` between two times of this one.

    Args:
        name: Of the node.
        clock: What the node's clock showed: seconds since 1970.
        sent: When it was asked, by this machine's clock.
        received: When it answered, by this machine's clock.

    Returns:
        [] or one sentence.
    """
    away, way = max((clock - received, "ahead of"), (sent - clock, "behind"))
    if away < SKEW:
        return []
    remark = f"the clock of {name} is {away:.0f} s {way} the server's: Flower refuses signatures"
    return [f"{remark} from 5 s ahead or 305 s old, keep clocks in step (NTP)"]


def states_follow(request: Request, reply: NodeReply) -> None:
    """Refuse a reply unless the states that it names are those that its work leaves. Work that went
    well leaves a state of its round, whose sha256 is sent; anything else leaves the one before it.

    Args:
        request: What was asked.
        reply: What was answered.

    Raises:
        Refused: A state is not the one that its step leaves.
    """
    own, digest = request.base.round, request.base.digest
    for done in reply.steps:
        if done.op in CHANGING and done.error is None:
            own, digest = done.round, done.own.digest
        if done.own.round != own or not done.own.digest or (digest and done.own.digest != digest):
            raise Refused(f"its state after {done.op} {done.round} is not the one that this leaves")
        digest = done.own.digest


def _check_same(reply: ProtocolVersion | NodeReply, request: Request, *keys: str) -> None:
    for key in keys:
        theirs = getattr(reply, key)
        if theirs != getattr(request, key):
            raise Refused(f"its reply is of another {key}: {cleaned(str(theirs))[:40]}")
