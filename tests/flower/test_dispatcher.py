"""Requests and replies, beside a grid that answers as the test says."""

import json
import math
from types import SimpleNamespace

import pytest

pytest.importorskip("flwr")

from flwr.app import Error, Message
from flwr.supercore.task_identity import TaskIdentity

from fedkin.core.errors import FedkinError
from fedkin.experiment.training import Interrupted
from fedkin.flower import dispatcher, waiting
from fedkin.flower.config import Deployment
from fedkin.flower.dispatcher import Dispatcher, RunIdentity, skew_remarks, states_follow
from fedkin.flower.envelope import (
    PROTOCOL,
    Base,
    Done,
    NodeReply,
    Refused,
    RemoteStep,
    Request,
    sealed,
)
from fedkin.flower.records import pack
from fedkin.flower.waiting import hello, word_at

ABOUT = RunIdentity("", "0123456789abcdef", "1")
ONE, TWO = "11" * 32, "22" * 32


class Clock:
    """Time that passes where somebody sleeps."""

    def __init__(self) -> None:
        self.now, self.slept = 1000.0, []

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds


@pytest.fixture
def clock(monkeypatch):
    found = Clock()
    told = SimpleNamespace(time=lambda: found.now, monotonic=lambda: found.now, sleep=found.sleep)
    monkeypatch.setattr(dispatcher, "time", told)
    monkeypatch.setattr(waiting, "time", told)
    return found


class Grid:
    """Nodes 10, 11, … of names; each answers after so many seconds, or never."""

    def __init__(self, clock: Clock, names=("a", "b", "c"), after=()) -> None:
        self.clock, self.names, self.after = clock, list(names), dict(after)
        self.pushed: list[Message] = []
        self.unsent: set[int] = set()
        self.offline: set[str] = set()
        self.blobs: list[bytes] = []
        self.changed: dict[str, object] = {}
        self.changed_of: dict[str, dict[str, object]] = {}  # name → the same for it alone
        self.newer: dict[str, object] = {}  # of a header that this version does not know
        TaskIdentity._run_id = TaskIdentity._task_id = TaskIdentity._node_id = 1

    def get_nodes(self):
        return [
            SimpleNamespace(name=name, node_id=10 + k, status="offline" if name in self.offline
                            else "online")
            for k, name in enumerate(self.names)
        ]  # fmt: skip

    def push_messages(self, messages):
        ids = []
        for message in messages:
            node = message.metadata.dst_node_id
            message.metadata.__dict__["_message_id"] = message.object_id
            self.pushed.append(message)
            ids.append("" if node in self.unsent else message.metadata.message_id)
        self.sent = self.clock.now
        return ids

    def pull_messages(self, ids):
        for message in self.pushed:
            name = self.names[message.metadata.dst_node_id - 10]
            waited = self.clock.now - self.sent
            if message.metadata.message_id in ids and waited >= self.after.get(name, 0):
                content = {"version": "1", "experiment": "", "run": ABOUT.run, "name": name}
                own = self.changed_of.get(name, {})
                reply = NodeReply(**{**content, **self.changed, **own})
                header = json.dumps(json.loads(sealed(reply)) | self.newer).encode()
                yield Message(pack([header, *self.blobs]), reply_to=message)


def dispatching(grid, **settings):
    whole = {"address": "127.0.0.1:9", "clients": ("a", "b", "c"), "poll": 0.5, "deadline": 10}
    return Dispatcher(grid, Deployment(**{**whole, **settings}), ABOUT)


def asking(of, names="abc", steps=(), blob=None):
    return {name: (of.request(name, steps=steps), blob) for name in names}


def test_a_message_outlives_its_deadline_in_the_superlink(clock):
    grid = Grid(clock)
    of = dispatching(grid)
    assert all(not isinstance(reply, str) for reply in of.exchange(asking(of)).values())
    assert of.reached == {"a", "b", "c"}
    for deadline in (None, 3.0):
        grid.pushed.clear()
        of.exchange(asking(of, blob=b"down"), deadline)
        assert [one.metadata.ttl for one in grid.pushed] == [(deadline or 10) + 60] * 3
        assert [one.metadata.group_id for one in grid.pushed] == [ABOUT.run] * 3
        assert len(grid.pushed[0].content["fedkin"]) == 2
    assert not clock.slept


def test_who_is_not_there_or_cannot_be_reached_is_told(clock):
    grid = Grid(clock, names=("a", "b", "x"))
    grid.offline, grid.unsent = {"b"}, {10}
    of = dispatching(grid)
    assert of.exchange(asking(of)) == {
        "a": "its message could not be sent",
        "b": "its node is not connected",
        "c": "its node is not connected",
    }
    assert of.reached == set()
    assert not clock.slept
    assert of.nodes() == {"a": 10}


def test_a_reply_is_waited_for_until_the_deadline_itself(clock):
    of = dispatching(Grid(clock, after={"a": 10, "b": 10.5, "c": 11}))
    found = of.exchange(asking(of))
    assert found["c"] == "no reply within 10 seconds"
    assert not isinstance(found["a"], str)
    assert not isinstance(found["b"], str)
    assert clock.slept == [0.5] * 21


STEPS = (RemoteStep(op="finish", round=0),)
DONE = Done(op="finish", round=0, own=Base(digest=ONE))
FAILED = Done(op="finish", round=0, error="its loss is not finite", own=Base(digest=ONE))


@pytest.mark.parametrize(
    ("quorum", "soft", "closed"),
    [(0.6, 2, 2.5), (0.67, 2, None), (1.0, 2, None), (0.6, None, None), (2 / 3, 2, 2.5)],
)
def test_a_quorum_closes_a_round_after_its_soft_deadline(quorum, soft, closed, clock):
    grid = Grid(clock, after={"b": 1, "c": 99})
    grid.changed = {"steps": (DONE,)}
    of = dispatching(grid, quorum=quorum, soft_deadline=soft)
    found = of.exchange(asking(of, steps=STEPS))
    said = "no reply within 2 seconds, when 2 others had replied"
    assert found["c"] == (said if closed else "no reply within 10 seconds")
    assert sum(clock.slept) == (closed or 10.5)


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        ({"steps": (FAILED,)}, None),
        ({"error": "not me"}, "not me"),
        ({"run": "f" * 16}, f"its reply is of another run: {'f' * 16}"),
        ({"steps": ()}, "its reply is of another round or work: "),
    ],
)
def test_a_reply_that_gives_nothing_to_the_round_counts_for_no_quorum(reply, said, clock):
    grid = Grid(clock, after={"c": 5})
    grid.changed, grid.changed_of = {"steps": (DONE,)}, {"b": reply}
    of = dispatching(grid, quorum=0.6, soft_deadline=2)
    found = of.exchange(asking(of, steps=STEPS))
    assert not isinstance(found["c"], str), "the round waits for the one who can still give"
    assert (found["b"] if said else found["b"][0].steps[0].error) == (said or FAILED.error)
    assert sum(clock.slept) == 5


def test_a_round_waits_for_everybody_where_somebody_does_no_work_or_it_is_not_enough(clock):
    grid = Grid(clock, after={"c": 99})
    grid.changed = {"steps": (DONE,)}
    of = dispatching(grid, quorum=0.6, soft_deadline=2)
    mixed = {**asking(of, "ab", STEPS), **asking(of, "c")}
    assert of.exchange(mixed)["c"] == "no reply within 10 seconds"
    seen = []

    def enough(names):
        seen.append(sorted(names))
        return False

    assert of.exchange(asking(of, steps=STEPS), enough=enough)["c"] == "no reply within 10 seconds"
    assert seen
    assert set(map(tuple, seen)) == {("a", "b")}


def test_a_reply_of_somebody_else_or_too_large_is_refused(clock):
    grid = Grid(clock, names=("a",))
    of = dispatching(grid, clients=("a",), max_bytes=3)
    for changed, said in (
        ({"protocol": 4}, "its reply is of another protocol: 4"),
        ({"version": "2"}, "its reply is of another version: 2"),
        ({"experiment": ONE}, f"its reply is of another experiment: {ONE[:40]}"),
        ({"run": ""}, "its reply is of another run: it gives no reason"),
        ({"name": "b"}, "its reply is of another name: b"),
        ({"error": "why"}, "why"),
    ):
        grid.changed = changed
        assert of.exchange(asking(of, "a")) == {"a": said}
    done = Done(op="evaluate", round=1, own=Base(digest=ONE), message=True)
    grid.changed = {"steps": (done,)}
    assert "another round or work: evaluate 1" in of.exchange(asking(of, "a"))["a"]
    asked = asking(of, "a", (RemoteStep(op="evaluate", round=1),))
    assert of.exchange(asked) == {"a": "its reply has not the messages that it names"}
    grid.blobs = [b"abc"]
    assert bytes(of.exchange(asked)["a"][1][0]) == b"abc"
    grid.blobs = [b"abcd"]
    assert of.exchange(asked) == {"a": "message of 4 bytes, more than the 3 allowed"}
    grid.changed = {}
    assert of.exchange(asking(of, "a"))["a"] == "its reply has not the messages that it names"


def test_another_version_is_named_before_its_reply_is_read(clock):
    grid = Grid(clock, names=("a",))
    of = dispatching(grid, clients=("a",))
    for changed, said in (
        ({"version": "2", "new_field": 1}, "its reply is of another version: 2"),
        (
            {"protocol": PROTOCOL + 1, "steps": "of tomorrow"},
            f"its reply is of another protocol: {PROTOCOL + 1}",
        ),
        ({"version": "2", "new_field": 1, "error": "why"}, "why"),
        ({"new_field": 1}, "nodereply is malformed: new_field: Extra inputs are not permitted"),
    ):
        grid.newer = changed
        assert of.exchange(asking(of, "a")) == {"a": said}


def test_unregistered_nodes_are_asked_once_who_they_are(clock):
    grid = Grid(clock)
    grid.after = {"c": 60.5}
    of = dispatching(grid, insecure=True)
    assert of.nodes() == {"a": 10, "b": 11, "c": 12}  # the last look is after the time is over
    assert sum(clock.slept) == 60.5
    assert [one.metadata.ttl for one in grid.pushed] == [120] * 3
    grid.pushed.clear()
    assert of.nodes() == {"a": 10, "b": 11, "c": 12}
    assert not grid.pushed
    later = dispatching(Grid(clock, after={"c": 61}), insecure=True)
    assert later.nodes() == {"a": 10, "b": 11}


def test_a_start_waits_for_nodes_and_not_for_those_who_refuse(clock):
    grid = Grid(clock)
    grid.offline = {"b"}
    of = dispatching(grid)
    with pytest.raises(FedkinError, match=r"^1 of 3 clients are not ready\. b: its node is not"):
        hello(of, 2)
    assert clock.slept == [1, 1, 1]
    clock.slept.clear()
    grid.offline = set()
    assert hello(of, 2) == {"a": None, "b": None, "c": None}
    grid.changed = {"error": "not me"}
    with pytest.raises(FedkinError, match=r"^3 of 3 clients .*\. a: not me; b: not me; c: not me$"):
        hello(of, 2)
    assert not clock.slept


def test_a_start_is_ended_while_it_waits(clock, tmp_path):
    grid, stop = Grid(clock), tmp_path / "stop"
    grid.offline = {"b"}
    stop.touch()
    with pytest.raises(Interrupted, match=r"^stopped while waiting for b$"):
        hello(dispatching(grid), 600, None, stop)
    assert not stop.exists()
    assert not clock.slept


@pytest.mark.parametrize(
    ("clock", "said"),
    [
        (100.0, None),
        (110.0, None),
        (112.5, None),
        (113.0, "3 s ahead of"),
        (97.5, None),
        (97.0, "3 s behind"),
        (90.0, "10 s behind"),
    ],
)
def test_a_clock_is_compared_with_both_ends(clock, said):
    found = skew_remarks("a", clock, 100.0, 110.0)
    assert (f"the clock of a is {said} the server's" in found[0]) if said else found == []


def test_a_wrong_clock_is_said_where_a_node_tells_its_time(clock):
    grid = Grid(clock, names=("a",))
    of = dispatching(grid, clients=("a",))
    for told, said in ((None, 0), (clock.now, 0), (clock.now + 9, 1)):
        grid.changed = {"clock": told}
        of.exchange(asking(of, "a"))
        assert len(of.remarks) == said


def test_a_clock_that_was_not_asked_for_is_not_looked_at(clock):
    done = Done(op="evaluate", round=1, own=Base(digest=ONE))
    grid = Grid(clock, names=("a",))
    grid.changed = {"clock": 5.0, "steps": (done,)}
    of = dispatching(grid, clients=("a",))
    (reply, _) = of.exchange(asking(of, "a", steps=(RemoteStep(op="evaluate", round=1),)))["a"]
    assert (reply.clock, of.remarks) == (5.0, [])


@pytest.mark.parametrize(
    ("op", "error", "own", "fine"),
    [
        ("local", None, (4, TWO), True),
        ("local", None, (3, TWO), False),
        ("local", None, (4, ""), False),
        ("local", "why", (3, ONE), True),
        ("local", "why", (4, ONE), False),
        ("local", "why", (3, TWO), False),
        ("evaluate", None, (3, ONE), True),
        ("evaluate", None, (3, TWO), False),
        ("evaluate", None, (4, ONE), False),
    ],
)
def test_work_leaves_a_state_of_its_round_and_nothing_else_does(op, error, own, fine):
    base = Base(round=3, digest=ONE)
    request = Request(version="", experiment="", run="", name="", base=base)
    done = Done(op=op, round=4, error=error, own=Base(round=own[0], digest=own[1]))
    reply = NodeReply(version="", experiment="", run="", name="", steps=(done,))
    if fine:
        states_follow(request, reply)
        unknown = request.model_copy(update={"base": Base(round=3)})
        states_follow(unknown, reply)
        return
    with pytest.raises(Refused, match=f"its state after {op} 4 is not the one that this leaves"):
        states_follow(request, reply)


def test_no_soft_deadline_is_none():
    of = dispatching(None)
    assert of._soft(asking(of, steps=STEPS)) == math.inf
    assert dispatching(None, soft_deadline=2)._soft(asking(of, steps=STEPS)) == 2


@pytest.mark.parametrize(("many", "more"), [(4, ""), (20, ""), (23, "; and 3 more")])
def test_reasons_are_told_up_to_a_screen(many, more, clock):
    grid = Grid(clock, names=())
    of = dispatching(grid, clients=tuple(f"n{k}" for k in range(many)))
    with pytest.raises(FedkinError) as told:
        hello(of, 0)
    assert str(told.value).startswith(f"{many} of {many} clients are not ready. n0: ")
    assert str(told.value).count("its node is not connected") == min(many, 20)
    assert str(told.value).endswith(f"n{min(many, 20) - 1}: its node is not connected{more}")


def test_who_is_waited_for_is_written_when_it_is_somebody_else(clock, tmp_path, monkeypatch):
    grid, word, words = Grid(clock), tmp_path / "word", []
    grid.offline = {"a", "b"}
    real = waiting.Waiting.tell

    def tell(self, missing):
        real(self, missing)
        words.append(word_at(word))
        grid.offline = {"b"} if len(words) > 1 else grid.offline
        grid.offline = set() if len(words) > 3 else grid.offline

    monkeypatch.setattr(waiting.Waiting, "tell", tell)
    hello(dispatching(grid), 9, word)
    two, one = "waiting for a, b (2 of 3 nodes)", "waiting for b (1 of 3 nodes)"
    assert words == [two, two, one, one, ""]
    assert not word.exists()


def test_a_name_of_two_nodes_is_nobodys(clock):
    grid = Grid(clock, names=("a", "b", "a"))
    of = dispatching(grid)
    assert of.nodes() == {"b": 11}
    found = of.exchange(asking(of))
    assert found["a"] == (
        "several nodes are connected as a (10, 12): revoke a key that is not its own, flwr "
        "supernode unregister NUMBER deployment (docs/deploy.md, A key that is lost)"
    )
    assert found["c"] == "its node is not connected"
    assert not isinstance(found["b"], str)


def test_nodes_without_keys_are_stopped_not_revoked(clock):
    grid = Grid(clock, names=("a", "b", "a"))
    of = dispatching(grid, insecure=True)
    assert of.exchange(asking(of))["a"] == "several nodes say that they are a: stop all but one"


def test_a_reply_from_another_node_or_with_a_flower_error_is_none(clock, monkeypatch):
    grid = Grid(clock, names=("a", "b"))
    of = dispatching(grid, clients=("a",))
    real = grid.pull_messages

    def other(ids):
        for message in real(ids):
            message.metadata.__dict__["_src_node_id"] = 99
            yield message

    monkeypatch.setattr(grid, "pull_messages", other)
    assert of.exchange(asking(of, "a")) == {"a": "its reply came from another node"}

    def failed(ids):
        for message in grid.pushed:
            if message.metadata.message_id in ids:
                yield Message(Error(code=7, reason="no\nroom"), reply_to=message)

    monkeypatch.setattr(grid, "pull_messages", failed)
    grid.pushed.clear()
    assert of.exchange(asking(of, "a")) == {"a": "its node failed (Flower error 7): no room"}
