"""What other machines send, by chance and by malice, in both directions (extra flower)."""

import json
import tempfile
from collections.abc import Iterable
from contextlib import suppress
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import torch
from flwr.app import Message
from flwr.supercore.task_identity import TaskIdentity
from hypothesis import strategies as st

from fedkin.core.errors import FedkinError
from fedkin.core.method import Reply as Sent
from fedkin.core.method import updated
from fedkin.core.rng import Key
from fedkin.core.tree import Tree, named_leaves
from fedkin.engine.acceptance import accepted, far_off
from fedkin.engine.codec import LARGEST, BadMessage, encode
from fedkin.engine.op import TaskResult
from fedkin.engine.server_guard import NotFinite, check_finite, guarded
from fedkin.experiment.run_facts import versions
from fedkin.flower import config
from fedkin.flower.backend import FlowerBackend
from fedkin.flower.dispatcher import Dispatcher, RunIdentity
from fedkin.flower.envelope import (
    HEADER_BYTES,
    Facts,
    NodeReply,
    Refused,
    RemoteStep,
    Request,
    opened,
    sealed,
)
from fedkin.flower.node.host import Node
from fedkin.flower.records import pack
from fedkin.setup.build import Assembled, assemble
from tests.engine.small import small
from tests.fuzz.boundary import Boundary
from tests.fuzz.grammar import FACTS, HASH, REPLY, REQUEST, changed, changed_message, headers

METHODS = ("fedavg", "comet", "ppfl", "fedem", "ifca", "scaffold", "fedmd", "apfl")
RUN = "0123456789abcdef"
ROOM = 100 << 20  # bytes that the server has for what nodes tell
ABOUT = RunIdentity(HASH, RUN, "1")


def good_or_one_sentence(kind: Any, blob: bytes) -> Any:
    """A header; raises Refused with one printable sentence."""
    said, found = "", None
    try:
        found = opened(kind, blob)
    except Refused as error:
        said = str(error)
    assert len(said) <= 300
    assert said.isprintable()
    if found is None:
        raise Refused(said)
    assert len(sealed(found)) <= HEADER_BYTES
    return found


# Up: from a node to the server -------------------------------------------------------------------


def _reply(blob: bytes) -> None:
    reply = good_or_one_sentence(NodeReply, blob)
    for done in reply.steps:
        assert 0 <= done.round <= 10**7
        assert 0 <= done.weight <= 10**8
        assert len(done.own.digest) in (0, 64)
        for views in done.scores.values():
            assert all(not accuracy > 1 and not accuracy < 0 for _, accuracy in views.values())
        assert done.error is None or (len(done.error) <= 300 and done.error.isprintable())


class Grid:
    """One node, which answers with these bytes."""

    def __init__(self, parts: list[bytes]) -> None:
        self._parts, self._replies = parts, dict[str, Message]()
        TaskIdentity._run_id = TaskIdentity._task_id = TaskIdentity._node_id = 1

    def get_nodes(self) -> Iterable[Any]:
        return [SimpleNamespace(name="b", node_id=10, status="online")]

    def push_messages(self, messages: Iterable[Message]) -> list[str]:
        (message,) = messages
        message.metadata.__dict__["_message_id"] = message.object_id
        self._replies[message.object_id] = Message(pack(self._parts), reply_to=message)
        return [message.object_id]

    def pull_messages(self, message_ids: Iterable[str]) -> list[Message]:
        return [self._replies.pop(one) for one in list(message_ids) if one in self._replies]


@cache
def _deployment() -> config.Deployment:
    return config.Deployment(address="127.0.0.1:9092", clients=("a", "b", "c"), max_bytes=1000)


def _exchange(case: tuple[bytes, list[bytes]]) -> None:
    """A whole reply, as it comes out of Flower: it is of what was asked, or it is not used."""
    header, blobs = case
    dispatcher = Dispatcher(Grid([header, *blobs]), _deployment(), ABOUT)
    asked = dispatcher.request("b", steps=(RemoteStep(op="local", round=3),))
    (found,) = dispatcher.exchange({"b": (asked, None)}, deadline=1).values()
    if isinstance(found, str):
        assert len(found) <= 400
        assert found.isprintable()
        raise FedkinError(found)
    reply, sent = found
    assert [(done.op, done.round) for done in reply.steps] == [("local", 3)]
    assert (reply.name, reply.run, reply.experiment) == ("b", RUN, HASH)
    assert all(len(blob) <= 1000 for blob in sent)


@cache
def _parts(method: str) -> Assembled:
    settings: dict[str, Any] = {"run__clients": 4, "run__participation": 1.0}
    return assemble(small(method, **settings))


@cache
def _state(method: str) -> Tree:
    """The server's, when the introductions are over."""
    parts = _parts(method)
    state = parts.method.server(parts.federation.start)
    if parts.method.setup_update is not None and parts.method.expected_setup is not None:
        honest = {
            client: Sent(honest_message(parts.method.expected_setup(state, info)), info.samples)
            for client, info in parts.infos.items()
        }
        state = parts.method.setup_update(state, honest, _tools(method))
    return state


def _tools(method: str) -> Any:
    from dataclasses import replace

    federation = _parts(method).federation
    return replace(federation.tools, key=Key(federation.seed, 1))


def honest_message(expected: Tree) -> Tree:
    """Small numbers of the shape that is expected."""
    if isinstance(expected, dict):
        return {name: honest_message(part) for name, part in expected.items()}
    if isinstance(expected, tuple):
        return tuple(honest_message(part) for part in expected)
    if isinstance(expected, torch.Tensor):
        return torch.full_like(expected, 0.1) if expected.is_floating_point() else expected
    return expected


def _expected(method: str, client: int, introduction: bool) -> Tree:
    parts = _parts(method)
    info = parts.infos[client]
    if introduction:
        assert parts.method.expected_setup is not None
        return parts.method.expected_setup(parts.method.server(parts.federation.start), info)
    return parts.method.expected_update(parts.method.broadcast(_state(method), client), info)


def _merged(method: str, blobs: list[bytes], weight: float, introduction: bool) -> None:
    """Two honest clients and hostile ones: what is merged of them is finite."""
    parts = _parts(method)
    kept, largest, refused = dict[int, Sent](), dict[int, dict[str, float]](), list[str]()
    for client, info in parts.infos.items():
        expected = _expected(method, client, introduction)
        hostile = blobs[client] if client < len(blobs) else None
        message = encode(honest_message(expected)) if hostile is None else hostile
        said = info.samples if hostile is None or weight < 0 else weight
        answer = TaskResult(client, message=message, weight=said)
        try:
            found = accepted(parts.method, info, answer, expected)
        except BadMessage as error:
            refused.append(str(error))
            continue
        kept[client], largest[client] = found.reply, found.largest
        for _, leaf in named_leaves(found.reply.message):
            assert torch.as_tensor(leaf).double().abs().max() <= LARGEST
    assert set(kept) >= set(parts.infos) - set(range(len(blobs)))  # the honest ones
    for client in far_off(largest):
        kept.pop(client)
    setup = parts.method.setup_update
    old = parts.method.server(parts.federation.start) if introduction else _state(method)

    def update(replies: Any) -> Tree:
        if introduction:
            assert setup is not None
            return setup(old, replies, _tools(method))
        return updated(parts.method, old, replies, _tools(method))

    with suppress(NotFinite):  # ends the run in one sentence, with the old state
        check_finite(guarded(update, old, kept, 1).state, old)
    if refused:
        raise FedkinError(refused[0])


@st.composite
def _messages(draw: st.DrawFn, introduction: bool) -> tuple[str, list[bytes], float]:
    method = draw(st.sampled_from(["comet", "ppfl"] if introduction else METHODS))
    blobs = [
        draw(changed_message(honest_message(_expected(method, client, introduction))))
        for client in range(draw(st.integers(1, 2)))
    ]
    return method, blobs, draw(st.sampled_from([-1.0, -1.0, -1.0, 1e300, 0.0, float("nan")]))


# Facts of nodes ----------------------------------------------------------------------------------


def _facts(case: tuple[bytes, bytes]) -> None:
    """Two nodes of three lie: what the server makes of it is bounded."""
    told = [opened(Facts, json.dumps(FACTS).encode())]
    told += [good_or_one_sentence(Facts, blob) for blob in case]
    deployment = _deployment()
    facts = dict(zip(deployment.clients, told, strict=True))
    fleet = FlowerBackend(deployment, Dispatcher(Grid([]), deployment, ABOUT), facts)
    spec = small("fedavg", run__clients=3, split__name="natural", model__name="mlr")
    with patch("fedkin.flower.node.data.room", lambda: ROOM):
        fleet.assemble(spec, None)


# Down: from a server to a node -------------------------------------------------------------------


def _request(blob: bytes) -> None:
    request = good_or_one_sentence(Request, blob)
    if request.place is not None:
        assert request.place.clients <= 10**6
        assert request.place.classes <= 10**5
    assert all(step.round <= 10**7 for step in request.steps)


@cache
def _node() -> tuple[tempfile.TemporaryDirectory[str], Node]:
    import tomli_w

    home = tempfile.TemporaryDirectory()
    folder = Path(home.name) / "node"
    folder.mkdir()
    spec = _parts("fedavg").spec
    content = spec.model_dump(mode="json", exclude_none=True)
    (folder / config.EXPERIMENT).write_text(tomli_w.dumps(content))
    about = config.NodeConfig(client="b", superlink="127.0.0.1:9092", max_bytes=1 << 20)
    (folder / config.NODE).write_text(config.text_of(about))
    return home, Node(folder)


def _known(run: str = RUN) -> dict[str, Any]:
    """A request that the node would obey."""
    spec = _parts("fedavg").spec
    place = {"client": 1, "clients": 4, "classes": 10, "architecture": "mlr", "joined": None}
    return {
        **REQUEST,
        "version": versions()["fedkin"],
        "experiment": config.fingerprint(spec),
        "run": run,
        "place": {**place, "data": ""},
        "base": {"round": 0, "digest": ""},
        "keep": 0,
        "steps": [{"op": "local", "round": 1}],
    }


def _asked(case: tuple[bytes, list[bytes]]) -> None:
    """A node answers with work or with one sentence, and writes in its own folder only."""
    header, blobs = case
    home, node = _node()
    reply = opened(NodeReply, node.answer([header, *blobs])[0])
    assert {path.name for path in Path(home.name).iterdir()} == {"node"}
    folder = node.folder
    assert {one.name for one in folder.iterdir()} <= {config.EXPERIMENT, config.NODE, "state"}
    if reply.error is not None:
        assert len(reply.error) <= 300
        assert reply.error.isprintable()
        assert not reply.error.startswith("its host failed"), reply.error
        raise FedkinError(reply.error)


@st.composite
def _asks(draw: st.DrawFn) -> tuple[bytes, list[bytes]]:
    run = draw(st.sampled_from([RUN, "ab" * 8, "cd" * 10]))
    good = json.dumps(_known(run)).encode()
    header = draw(st.one_of(st.just(good), headers(_known(run))))
    method = _parts("fedavg").method
    down = method.broadcast(_state("fedavg"), 1)
    blobs = draw(st.lists(changed_message(down), max_size=2))
    return header, blobs


NETWORK = {
    "up: headers": Boundary(headers(REPLY), _reply),
    "up: replies": Boundary(
        st.tuples(headers(REPLY), st.lists(st.binary(max_size=1200), max_size=2)), _exchange
    ),
    "up: introductions": Boundary(_messages(True), lambda case: _merged(*case, introduction=True)),
    "up: messages": Boundary(_messages(False), lambda case: _merged(*case, introduction=False)),
    "up: facts of nodes": Boundary(
        st.tuples(st.just(json.dumps(FACTS).encode()) | changed(FACTS), changed(FACTS)), _facts
    ),
    "down: headers": Boundary(headers(REQUEST), _request),
    "down: what a node is asked": Boundary(_asks(), _asked),
}
