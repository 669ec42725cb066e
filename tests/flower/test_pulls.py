"""One registered node that sends anything, at any speed, through Flower's own HttpGrid: the others'
replies are used, and the time is kept. Only the HTTP client under it is played.
"""

import json
import sys
import threading
import time
from types import SimpleNamespace as Given

import pytest

pytest.importorskip("flwr")

from flwr.app import Message
from flwr.common.serde import message_to_proto
from flwr.proto.node_pb2 import Node
from flwr.supercore.inflatable.inflatable_object import (
    get_all_nested_objects,
    get_object_id,
    get_object_tree,
)
from flwr.supercore.inflatable.inflatable_utils import validate_object_content
from flwr.supercore.task_identity import TaskIdentity
from flwr.superlink.grid.http_grid import HttpGrid

from fedkin.data.formats.memory import within_room
from fedkin.flower import dispatcher, pulls
from fedkin.flower.config import Deployment
from fedkin.flower.dispatcher import MOST_HELD, Dispatcher, RunIdentity
from fedkin.flower.envelope import NodeReply, RemoteStep, sealed
from fedkin.flower.pulls import Pulls
from fedkin.flower.records import pack

ABOUT = RunIdentity("", "0123456789abcdef", "1")
NAMES = ("good", "bad")


class Link:
    """What of the SuperLink answers a grid: replies, and the objects that they are made of."""

    def __init__(self) -> None:
        self.replies, self.objects, self.stalled = {}, {}, set()
        self.free = threading.Event()  # what is stalled arrives after all

    def PullMessages(self, request):
        found = [self.replies.pop(id) for id in request.message_ids if id in self.replies]
        return Given(
            messages_list=[one for one, _ in found], message_object_trees=[one for _, one in found]
        )

    def PullObject(self, request):
        if request.object_id in self.stalled:
            self.free.wait(600)
        content = self.objects[request.object_id]
        return Given(object_found=True, object_available=True, object_content=content)

    def ConfirmMessageReceived(self, request):
        pass


class Grid(HttpGrid):
    """Two nodes; ``act`` makes of the honest reply of the second one what it sends."""

    node = Node(node_id=1)

    def __init__(self, act=None) -> None:
        TaskIdentity._run_id = TaskIdentity._task_id = TaskIdentity._node_id = 1
        self._run, self.link, self.act = Given(run_id=1), Link(), act
        self.down = False

    _runtime_client = property(lambda self: self.link)

    def get_nodes(self):
        if self.down:
            raise ConnectionError("no SuperLink")
        return [Given(name=name, node_id=10 + k, status="online") for k, name in enumerate(NAMES)]

    def push_messages(self, messages):
        messages = list(messages)
        for message in messages:
            message.metadata.__dict__["_message_id"] = message.object_id
        for message in messages:
            name = NAMES[message.metadata.dst_node_id - 10]
            header = NodeReply(version="1", experiment="", run=ABOUT.run, name=name)
            reply = self.reply(message, header)
            if name == "bad" and self.act is not None:
                self.act(self, messages, message, reply)
        return [message.metadata.message_id for message in messages]

    def reply(self, message, header, to=None):
        found = Message(pack([sealed(header)]), reply_to=to or message)
        found.metadata.__dict__["_message_id"] = found.object_id
        objects = get_all_nested_objects(found)
        self.link.objects |= {id: one.deflate() for id, one in objects.items()}
        proto = message_to_proto(found)
        # what the SuperLink holds a sender to: its node, and the message that was sent there
        proto.metadata.src_node_id = message.metadata.dst_node_id
        proto.metadata.reply_to_message_id = message.metadata.message_id
        self.link.replies[message.metadata.message_id] = proto, get_object_tree(found)
        return objects

    def root(self, message, id):
        """Another object than a message as what a reply is."""
        proto, tree = self.link.replies[message.metadata.message_id]
        proto.metadata.message_id = id
        self.link.replies[message.metadata.message_id] = proto, type(tree)(object_id=id)


def unknown(grid, messages, message, objects):
    content = b"CustomDataClass  1\x00x"
    validate_object_content(content)  # the SuperLink lets it through
    id = get_object_id(content)
    grid.link.objects[id] = content
    grid.root(message, id)


def no_message(grid, messages, message, objects):
    grid.root(
        message, next(id for id, one in objects.items() if type(one).__name__ == "ArrayChunk")
    )


def forged(grid, messages, message, objects):
    """In the body, which its sender writes alone, an answer of the other node."""
    header = NodeReply(version="1", experiment="", run=ABOUT.run, name="good")
    grid.reply(message, header, to=messages[0])
    grid.link.replies.pop(messages[0].metadata.message_id)


def inflated(grid, messages, message, objects):
    """A small chunk, so often in one array that it takes 600 MB."""
    array = next(one for one in objects.values() if type(one).__name__ == "Array")
    head, _, body = array.deflate().partition(b"\0")
    often = [0] * ((600 << 20) // len(array.data))
    body = json.dumps({**json.loads(body), "arraychunk_ids": often}).encode()
    head = b" ".join([*head.split(b" ")[:2], b"%d" % len(body)])
    grid.link.objects[array.object_id] = head + b"\0" + body


def stalled(grid, messages, message, objects):
    grid.link.stalled |= objects.keys()


def dispatching(grid, **settings):
    whole = {"address": "127.0.0.1:9", "clients": NAMES, "poll": 0.01, "deadline": 600}
    return Dispatcher(grid, Deployment(**{**whole, **settings}), ABOUT)


def asked(of, names=NAMES, work=False):
    steps = (RemoteStep(op="evaluate", round=0),) if work else ()
    return {name: (of.request(name, steps=steps), None) for name in names}


class Looked(Pulls):
    """The newest knows how many replies came."""

    newest = None

    def __init__(self, pull) -> None:
        super().__init__(pull)
        Looked.newest, self.came = self, 0

    def look(self, waiting):
        found = super().look(waiting)
        self.came += len(found)
        return found

    def end(self):
        Looked.newest = None
        return super().end()


class Clock:
    """Of a dispatcher, whatever else is at work on this machine: a second is over once so many
    replies are there and so many are on their way.
    """

    time, sleep = staticmethod(time.time), staticmethod(time.sleep)

    def __init__(self) -> None:
        self.came, self.held = 1, 1

    def monotonic(self) -> float:
        now = Looked.newest
        over = now is not None and now.came >= self.came and len(now.held()) >= self.held
        return 1.0 if over else 0.0


@pytest.fixture
def clock(monkeypatch):
    found = Clock()
    monkeypatch.setattr(dispatcher, "time", found)
    monkeypatch.setattr(dispatcher, "Pulls", Looked)
    return found


@pytest.mark.parametrize(
    ("act", "said"),
    [
        (unknown, "its reply cannot be read: KeyError: 'CustomDataClass'"),
        (no_message, "its reply cannot be read: AttributeError"),
    ],
)
def test_a_reply_that_is_anything_ends_no_run_and_takes_no_other_along(act, said):
    for first in NAMES:
        of = dispatching(Grid(act))
        found = of.exchange(dict(sorted(asked(of).items(), key=lambda one: one[0] != first)))
        assert found["bad"].startswith(said)
        assert found["good"][0].name == "good"


@pytest.mark.skipif(sys.platform != "linux", reason="the system keeps no such limit elsewhere")
def test_a_reply_that_inflates_beyond_the_systems_limit_ends_no_run():
    """As LimitDATA of the SuperLink's unit: docs/security.md."""
    of = dispatching(Grid(inflated), deadline=60)
    with within_room("the server app", 200 << 20):
        found = of.exchange(asked(of))
    assert found["bad"].startswith("its reply cannot be read: MemoryError")
    assert found["good"][0].name == "good"


def test_a_reply_is_of_whom_was_asked_whatever_it_says_of_itself(clock):
    clock.held = 0
    of = dispatching(Grid(forged), deadline=0.3)
    found = of.exchange(asked(of))
    assert found == {"bad": "its reply is to another message",
                     "good": "no reply within 0.3 seconds"}  # fmt: skip


def test_a_reply_that_is_not_whole_at_the_deadline_is_missing(clock, monkeypatch):
    """Its thread goes on, and writes into no later round."""
    monkeypatch.setattr(pulls, "PATIENCE", 0.05)
    grid = Grid(stalled)
    of = dispatching(grid, deadline=0.4)
    found = of.exchange(asked(of))
    assert found["bad"] == "no reply within 0.4 seconds: it is on its way, and not whole"
    assert found["good"][0].name == "good"
    grid.act, clock.came = None, 3  # of two: never
    grid.link.free.set()
    assert {name: reply[0].name for name, reply in of.exchange(asked(of)).items()} == {
        name: name for name in NAMES
    }


def test_a_quorum_closes_a_round_that_a_slow_upload_holds(clock, monkeypatch):
    monkeypatch.setattr(pulls, "PATIENCE", 0.05)
    grid = Grid(stalled)
    of = dispatching(grid, deadline=60, soft_deadline=0.3, quorum=0.5)
    grid.reply, real = (
        lambda message, header, to=None: real(message, steps_of(header), to),
        grid.reply,
    )
    found = of.exchange(asked(of, work=True))
    said = "no reply within 0.3 seconds, when 1 others had replied"
    assert found["bad"] == f"{said}: it is on its way, and not whole"
    assert not isinstance(found["good"], str)
    grid.link.free.set()


def steps_of(header):
    done = {"op": "evaluate", "round": 0, "own": {"digest": "ab" * 32}}
    return NodeReply.model_validate({**header.model_dump(), "steps": (done,)}, strict=False)


def test_a_node_that_ends_no_reply_holds_few_threads(clock, monkeypatch):
    monkeypatch.setattr(pulls, "PATIENCE", 0.02)
    grid = Grid(stalled)
    of = dispatching(grid, deadline=0.05)
    before = threading.active_count()
    for _ in range(MOST_HELD):
        assert "it is on its way" in of.exchange(asked(of))["bad"]
    for _ in range(12):
        found = of.exchange(asked(of))
        assert found["bad"] == "its earlier replies are still on their way"
        assert found["good"][0].name == "good"
    # Flower has two threads for each reply, and some that end later than this: far from 2 × 15
    assert threading.active_count() - before <= 6 * MOST_HELD
    grid.link.free.set()
    end = time.monotonic() + 300
    while of._overloaded({"bad": Given(metadata=Given(dst_node_id=11))}) or of._late:
        assert time.monotonic() < end
    grid.act, clock.came = None, 3
    assert of.exchange(asked(of))["bad"][0].name == "bad"


def test_a_superlink_that_fails_ends_the_run_as_before():
    grid = Grid(unknown)
    of = dispatching(grid)
    nodes = of.nodes()
    of.nodes = lambda: nodes
    grid.down = True
    with pytest.raises(ConnectionError, match="no SuperLink"):
        of.exchange(asked(of))


def test_many_replies_that_stall_hold_nobody_up(monkeypatch):
    """Each takes its own thread, and its PATIENCE once; whoever is last in line is heard."""
    monkeypatch.setattr(pulls, "PATIENCE", 0.05)
    free, looked = threading.Event(), []

    def pull(id):
        looked.append(id)
        if id != "z":
            free.wait(600)
        return [id.encode()]

    names = [*"abcdefgh", "z"]
    of, found = Pulls(pull), {}
    for _ in range(100):
        if "z" in (found := of.look(names)):
            break
    assert found == {"z": [b"z"]}
    assert sorted(looked) == sorted(names)
    assert of.end() == set("abcdefgh")
    free.set()
    end = time.monotonic() + 300
    while of.held():
        assert time.monotonic() < end
    assert of._found == {}
    assert of.end() == set()


def test_a_reply_is_asked_for_again_until_it_is_there(monkeypatch):
    monkeypatch.setattr(pulls, "PATIENCE", 600)
    looks = []

    def pull(id):
        looks.append(id)
        return "here" if looks.count(id) == 3 else None

    of = Pulls(pull)
    assert [of.look("ab") for _ in range(3)] == [{}, {}, {"a": "here", "b": "here"}]
    assert looks == ["a", "b"] * 3
