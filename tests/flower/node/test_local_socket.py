"""Messages on the socket of a node."""

import re
import threading
from contextlib import suppress
from multiprocessing.connection import Listener
from types import SimpleNamespace

import pytest

from fedkin.core.errors import FedkinError
from fedkin.flower import config
from fedkin.flower.envelope import HEADER_BYTES, NodeReply, sealed
from fedkin.flower.node import host, local_socket
from fedkin.flower.node.host import serve
from tests.engine.small import small
from tests.flower.node.host_examples import ask, down, made, request


@pytest.fixture
def spec():
    return small("ditto", run__clients=4, run__participation=1.0, run__rounds=9)


@pytest.fixture
def node(tmp_path, spec):
    return made(tmp_path, spec)


def test_large_messages_are_not_read(tmp_path, spec):
    """A host closes the line on them, and goes on."""
    node = made(tmp_path, spec, max_bytes=1000)
    node.state.mkdir()
    threading.Thread(target=serve, args=(node,), daemon=True).start()
    socket = config.socket_of(node.folder, node.config)
    with pytest.raises(FedkinError, match="ended, or refused what came"):
        local_socket.ask(socket, [sealed(request(spec)), bytes(1000 + HEADER_BYTES)], 1 << 30)
    (header,) = local_socket.ask(socket, [sealed(request(spec, steps=(), place=None))], 1 << 30)
    assert NodeReply.model_validate_json(header).error is None
    assert not list(node.state.glob("*/*.commit"))


def test_an_answer_that_is_too_large_is_told_with_its_size(tmp_path, spec):
    node = made(tmp_path, spec, max_bytes=2_000)
    reply, sent = ask(node, request(spec), down(spec))
    assert (reply.steps, sent) == ((), [])
    size = len(down(spec))
    found = re.fullmatch(
        r"its answer has ([0-9,]+) bytes, more than max_bytes = 2,000 in its node.toml: raise it "
        r"there, and in deployment.toml",
        reply.error,
    )
    assert size < int(found[1].replace(",", "")) < 2 * size
    node.config = node.config.model_copy(update={"max_bytes": 2 * size})
    assert ask(node, request(spec), down(spec))[1]


def test_an_answer_beyond_the_limit_of_who_asked_is_told(short_path):
    """The node was started with another limit than its host has now."""
    place = short_path / "s"
    with Listener(str(place), family="AF_UNIX") as listener:

        def host():
            with listener.accept() as line, suppress(OSError):  # who asked may have hung up
                local_socket.put(line, local_socket.take(line, 9) and [bytes(100_001)])

        answering = threading.Thread(target=host, daemon=True)
        answering.start()
        with pytest.raises(FedkinError, match="answer of this node's host is larger than max_byt"):
            local_socket.ask(place, [b"x"], 100_000)
        answering.join(60)


def test_a_socket_that_belongs_to_another_user_is_told(tmp_path, monkeypatch):
    """Nothing was asked, and no limit was in the way."""

    def refuse(*_, **__):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(local_socket, "Client", refuse)
    with pytest.raises(FedkinError, match=r"cannot be opened: Permission denied: .* as one user"):
        local_socket.ask(tmp_path / "host.socket", [b"x"], 1000)


class Line:
    """A line that ends here: what is sent is received."""

    def __init__(self) -> None:
        self.sent: list[bytes] = []
        self.limits: list[int] = []

    def send_bytes(self, part: bytes) -> None:
        self.sent.append(part)

    def recv_bytes(self, limit: int) -> bytes:
        self.limits.append(limit)
        return self.sent.pop(0)


def test_parts_share_one_limit():
    line = Line()
    local_socket.put(line, [b"abc", b"", b"de"])
    assert line.sent[0] == b"\x03"
    assert local_socket.take(line, 9) == [b"abc", b"", b"de"]
    assert line.limits == [1, 9, 6, 6]
    line.sent = [b"\xff", *(bytes([k]) for k in range(9))]
    assert len(local_socket.take(line, 99)) == 8


def test_a_host_that_is_not_there_is_waited_for(tmp_path, monkeypatch):
    now, slept = [0.0], []

    def monotonic():
        now[0] += 10
        return now[0]

    clock = SimpleNamespace(monotonic=monotonic, sleep=slept.append)  # other threads have theirs
    monkeypatch.setattr(local_socket, "time", clock)
    with pytest.raises(FedkinError, match="the host of this node does not answer: "):
        local_socket.ask(tmp_path / "none", [b""], 9)
    assert slept == [0.2] * 6  # after 10, 20, … 60 seconds; at the next look it is over


def test_a_caller_who_says_nothing_is_left(node):
    """After a minute; one who speaks is answered, whatever is said."""

    class Caller(Line):
        def poll(self, seconds):
            self.waited = seconds
            return bool(self.sent)

    caller = Caller()
    host._one(node, caller)
    assert (caller.waited, caller.sent, caller.limits) == (60, [], [])
    local_socket.put(caller, [b"{}"])
    host._one(node, caller)
    assert caller.limits == [1, node.config.max_bytes + HEADER_BYTES]
    assert "malformed" in NodeReply.model_validate_json(caller.sent[1]).error


def test_a_path_that_is_too_long_is_not_put_down_to_another_user(tmp_path) -> None:
    with pytest.raises(FedkinError, match=r"cannot be opened: AF_UNIX path too long$"):
        local_socket.ask(tmp_path / ("x" * 150), [b"x"], 10)
