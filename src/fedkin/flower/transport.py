"""Nodes of a Flower federation as a Transport: one message a round for every client carries all that is asked of it."""

import hashlib
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import torch
from flwr.app import Message

from fedkin.core.errors import FedkinError
from fedkin.core.files import write_file
from fedkin.engine.codec import encode
from fedkin.engine.host import CHANGING, Answer, Order
from fedkin.engine.store import read_state
from fedkin.flower.config import Deployment
from fedkin.flower.envelope import HEADER_BYTES, Base, Done, Facts, Place, Refused, Reply, Request, Step, opened, sealed
from fedkin.flower.records import pack, unpack
from fedkin.runs import checkpoint

KIND = "train.fedkin"
LATE = 60  # seconds that a message outlives its deadline in the SuperLink
EVALUATIONS = ("evaluate", "evaluate_all")

Then = Callable[[int], Sequence[tuple[str, int, Sequence[int]]]]


class Grid(Protocol):
    """What is used of Flower's Grid."""

    def get_nodes(self) -> Iterable[Any]: ...

    def push_messages(self, messages: Iterable[Message]) -> Iterable[str]: ...

    def pull_messages(self, message_ids: Iterable[str]) -> Iterable[Message]: ...


class Federation(NamedTuple):
    """What every request says."""

    experiment: str
    run: str
    version: str


class Result(NamedTuple):
    """A client's reply: its answers by (op, round), or why there are none."""

    answers: Mapping[tuple[str, int], tuple[Answer, Base]]
    error: str | None = None


class Postman:
    """Requests to clients by their names, replies or reasons back, before the deadline."""

    def __init__(self, grid: Grid, deployment: Deployment, about: Federation) -> None:
        self.grid, self.deployment, self.about = grid, deployment, about
        self._told: dict[int, str] = {}  # node → the client it says it is; used only where nodes are not registered

    def request(self, name: str, **content: Any) -> Request:
        """A request of this run to a client."""
        return Request(
            version=self.about.version, experiment=self.about.experiment, run=self.about.run, name=name, **content
        )

    def exchange(
        self, requests: Mapping[str, tuple[Request, bytes | None]], deadline: float | None = None
    ) -> dict[str, tuple[Reply, list[bytes]] | str]:
        """name → (reply, its messages), or in one sentence why there is none."""
        deadline = deadline or self.deployment.deadline
        nodes = self.nodes()
        found: dict[str, tuple[Reply, list[bytes]] | str] = {}
        messages: dict[str, Message] = {}
        for name, (request, blob) in requests.items():
            if name not in nodes:
                found[name] = "its node is not connected"
                continue
            content = pack([sealed(request), *([] if blob is None else [blob])])
            messages[name] = Message(content, nodes[name], KIND, ttl=deadline + LATE, group_id=self.about.run)
        for name, reply in self._send(messages, deadline).items():
            found[name] = reply if isinstance(reply, str) else self._open(reply, nodes[name], requests[name][0])
        return found

    def nodes(self) -> dict[str, int]:
        """name → node of the clients that are connected."""
        online = [node for node in self.grid.get_nodes() if node.status == "online"]
        if not self.deployment.insecure:
            names = [(node.name, node.node_id) for node in online]
        else:
            names = self._ask_names([node.node_id for node in online])
        found: dict[str, int] = {}
        for name, node in names:
            if name in found:
                raise FedkinError(f"two nodes are connected as {name}: unregister one of them")
            found[name] = node
        return {name: node for name, node in found.items() if name in self.deployment.clients}

    def _ask_names(self, nodes: list[int]) -> list[tuple[str, int]]:
        """Without registration a node is who it says it is: good enough on one's own machine, and only there."""
        new = {str(node): node for node in nodes if node not in self._told}
        hello = [sealed(self.request(""))]
        messages = {key: Message(pack(hello), node, KIND, ttl=60 + LATE) for key, node in new.items()}
        for key, reply in self._send(messages, 60).items():
            if not isinstance(reply, str):
                with suppress(Refused):
                    self._told[new[key]] = opened(Reply, unpack(reply.content, HEADER_BYTES)[0]).name
        return [(self._told[node], node) for node in nodes if node in self._told]

    def _send(self, messages: Mapping[str, Message], deadline: float) -> dict[str, Message | str]:
        """Push all, then look for replies until all are there or the time is over."""
        end = time.monotonic() + deadline
        ids = list(self.grid.push_messages(list(messages.values()))) if messages else []
        waiting = {id: name for id, name in zip(ids, messages) if id}
        found: dict[str, Message | str] = {
            name: "its message could not be sent" for name in messages if name not in waiting.values()
        }
        while waiting:
            for reply in self.grid.pull_messages(list(waiting)):
                name = waiting.pop(reply.metadata.reply_to_message_id, None)
                if name is not None:
                    found[name] = _reason(reply) if reply.has_error() else reply
            if waiting and time.monotonic() > end:
                late = dict.fromkeys(waiting.values(), f"no reply within {deadline:g} seconds")
                return {**found, **late}
            if waiting:
                time.sleep(self.deployment.poll)
        return found

    def _open(self, message: Message, node: int, request: Request) -> tuple[Reply, list[bytes]] | str:
        """A reply that is from the right node, of the right client, run and round; else the reason against it."""
        try:
            if message.metadata.src_node_id != node:
                raise Refused("its reply came from another node")
            header, *blobs = unpack(message.content, self.deployment.max_bytes + HEADER_BYTES)
            reply = opened(Reply, header)
            if reply.error is not None:
                return reply.error
            for what in ("protocol", "version", "experiment", "run", "name"):
                if getattr(reply, what) != getattr(request, what):
                    raise Refused(f"its reply is of another {what}: {getattr(reply, what)!s:.40}")
            if [(done.op, done.round) for done in reply.steps] != [(step.op, step.round) for step in request.steps]:
                shown = ", ".join(f"{done.op} {done.round}" for done in reply.steps)
                raise Refused(f"its reply is of another round or work: {shown}")
            if len(blobs) != sum(done.message for done in reply.steps):
                raise Refused("its reply has not the messages that it names")
            for blob in blobs:
                if len(blob) > self.deployment.max_bytes:
                    raise Refused(f"message of {len(blob)} bytes, more than the {self.deployment.max_bytes} allowed")
        except Refused as error:
            return str(error)
        return reply, blobs


class FlowerTransport:
    """The Transport. ``then(round)``: what follows the evaluation of a round, (op, round, clients) each.

    What follows travels with the evaluation and its answers wait here until they are asked for: the message down is
    the same, and nothing else of the server is needed for it. Personal states stay on their nodes, by round; the
    checkpoint holds receipts in their place: which round's state is a client's, and its sha256.
    """

    def __init__(self, postman: Postman, places: Mapping[int, tuple[str, Place]], then: Then) -> None:
        self.postman, self.places, self.then = postman, places, then
        self.own: dict[int, Base] = {client: Base() for client in places}
        self._seen: dict[int, str] = {}  # digests of states that nobody has changed yet
        self._changed: set[int] = set()
        self._saved: dict[int, int] = {}
        self._committed: dict[int, int] = {}
        self._ahead: dict[tuple[int, str, int], tuple[str, Answer, Base]] = {}
        self._said: list[str] = []

    def ask(self, op: str, round: int, orders: Iterable[Order]) -> Iterator[Answer]:
        found: list[tuple[Answer, Base]] = []
        open_orders: list[Order] = []
        for order in orders:
            waiting = self._ahead.pop((order.client, op, round), None)
            if waiting is not None and waiting[0] == _sha(order.message):
                found.append(waiting[1:])
            else:
                open_orders.append(order)
        if open_orders:
            found += self._send(op, round, open_orders)
        for answer, own in found:
            if answer.error is None and own.digest:
                self._seen[answer.client] = own.digest
                if op in CHANGING:
                    self.own[answer.client] = own
                    self._changed.add(answer.client)
            if op not in EVALUATIONS or answer.error is None:
                yield answer
            else:  # a client that is away has no scores this time; the others have
                self._said.append(f"{self.places[answer.client][0]} was not evaluated: {answer.error}")

    def save(self, folder: Path, round: int) -> list[int]:
        changed = sorted(self._changed)
        for client in changed:
            own = self.own[client]
            digest = torch.frombuffer(bytearray.fromhex(own.digest), dtype=torch.uint8)
            receipt = encode({"round": own.round, "digest": digest})
            write_file(folder / checkpoint.name(client, round), receipt)
        self._changed.clear()
        # what is saved now is committed only after this call: until the next one, nodes keep what was committed before
        self._committed, self._saved = self._saved, {client: own.round for client, own in self.own.items()}
        return changed

    def load(self, states: Mapping[int, Path]) -> None:
        for client, path in states.items():
            receipt: Any = read_state(path)
            self.own[client] = Base(round=receipt["round"], digest=bytes(receipt["digest"].tolist()).hex())
        self._seen.update({client: self.own[client].digest for client in states})
        self._committed = self._saved = {client: own.round for client, own in self.own.items()}

    def digests(self, clients: Iterable[int]) -> dict[int, str]:
        return {client: self._seen.get(client, "") for client in clients}

    def said(self) -> list[str]:
        return sorted(set(self._said))

    def close(self) -> None:
        pass

    def _send(self, op: str, round: int, orders: Sequence[Order]) -> list[tuple[Answer, Base]]:
        after = self.then(round) if op == EVALUATIONS[0] else []
        steps = {
            order.client: ((op, round), *((do, at) for do, at, who in after if order.client in who)) for order in orders
        }
        requests = {}
        for order in orders:
            name, place = self.places[order.client]
            request = self.postman.request(
                name,
                place=place,
                base=self.own[order.client],
                keep=self._committed.get(order.client, 0),
                steps=tuple(Step(op=do, round=at) for do, at in steps[order.client]),  # type: ignore[arg-type]
            )
            requests[name] = request, order.message
        replies = self.postman.exchange(requests)
        found = []
        for order in orders:
            reply = replies[self.places[order.client][0]]
            answers = answers_of(order.client, steps[order.client], reply)
            found.append(answers[0])
            for (do, at), (answer, own) in list(zip(steps[order.client], answers))[1:]:
                self._ahead[order.client, do, at] = _sha(order.message), answer, own
        return found


def hello(postman: Postman, patience: float) -> dict[str, Facts | None]:
    """What every client's node tells of its data.

    Raises FedkinError for nodes that do not come in time, and, once all have come, for those that refuse.
    """
    end = time.monotonic() + patience
    names = postman.deployment.clients
    facts: dict[str, Facts | None] = {}
    while True:
        open_names = [name for name in names if name not in facts]
        nodes = postman.nodes()
        here = {name: (postman.request(name), None) for name in open_names if name in nodes}
        why = dict.fromkeys(open_names, "its node is not connected")
        for name, reply in (postman.exchange(here) if here else {}).items():
            if isinstance(reply, str):
                why[name] = reply
            else:
                facts[name] = reply[0].facts
                del why[name]
        if not why:
            return facts
        if time.monotonic() > end or len(here) == len(open_names):
            missing = [f"{name}: {reason}" for name, reason in why.items()]
            raise FedkinError(f"{len(missing)} of {len(names)} clients are not ready. {'; '.join(missing[:3])}")
        time.sleep(1)


def answers_of(
    client: int, steps: Sequence[tuple[str, int]], reply: tuple[Reply, list[bytes]] | str
) -> list[tuple[Answer, Base]]:
    """One answer a step, in order, with the personal state that it left."""
    if isinstance(reply, str):
        return [(Answer(client, error=reply), Base()) for _ in steps]
    blobs = iter(reply[1])
    return [(_answer(client, done, next(blobs) if done.message else None), done.own) for done in reply[0].steps]


def _answer(client: int, done: Done, message: bytes | None) -> Answer:
    record = {"scores": done.scores, "notes": done.notes, "measures": done.measures}
    return Answer(client, message, done.weight, done.error, record, done.seconds)


def _reason(reply: Message) -> str:
    text = " ".join(str(reply.error.reason or "").split())
    return f"its node failed (Flower error {reply.error.code}): {text[:300]}"


def _sha(message: bytes | None) -> str:
    return hashlib.sha256(message or b"").hexdigest()
