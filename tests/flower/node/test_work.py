"""A node's work: once for each request, and states that are still needed."""

import hashlib
from types import SimpleNamespace

import pytest
import torch

from fedkin.core.errors import FedkinError
from fedkin.core.tree import map_tree
from fedkin.engine.codec import decode, encode
from fedkin.engine.evaluation import Evaluation
from fedkin.engine.host import Host
from fedkin.engine.op import TaskResult
from fedkin.engine.store import Memory
from fedkin.flower.envelope import Base, Place, RemoteStep
from fedkin.flower.node.host import Node
from fedkin.flower.node.request_log import RequestLog
from fedkin.flower.node.store import MODEL, Commit, NodeStore
from fedkin.flower.node.work import Work
from fedkin.masks.signatures import broadcast_digest
from tests.engine.small import small
from tests.flower.node.host_examples import ask, down, made, request


@pytest.fixture
def spec():
    return small("ditto", run__clients=4, run__participation=1.0, run__rounds=9)


@pytest.fixture
def node(tmp_path, spec):
    return made(tmp_path, spec)


def test_a_round_that_is_asked_for_again_is_not_trained_again(node, spec, tmp_path, monkeypatch):
    first, sent = ask(node, request(spec), down(spec))
    assert first.steps[0].own.round == 1
    monkeypatch.setattr("fedkin.engine.host.Host.do", lambda *_: pytest.fail("it worked again"))
    assert ask(node, request(spec), down(spec)) == (first, sent)
    monkeypatch.undo()
    later = made(tmp_path, spec)  # as after a restart of the host
    monkeypatch.setattr("fedkin.engine.host.Host.do", lambda *_: pytest.fail("it worked again"))
    assert ask(later, request(spec), down(spec)) == (first, sent)


def test_a_state_is_encoded_once_to_be_kept_and_to_be_told(node, spec, monkeypatch):
    whose, held = [], Host.personal_state

    def noted(self, client):
        whose.append(client)
        return held(self, client)

    monkeypatch.setattr(Host, "personal_state", noted)
    reply, _ = ask(node, request(spec), down(spec))
    # to tell the state that the work began from, to work with it, and to keep what it became
    assert whose == [1, 1, 1]
    (kept,) = node.state.glob("*/1.commit")
    own = reply.steps[0].own
    assert own.digest == hashlib.sha256(NodeStore(kept.parent).find(1).state).hexdigest()
    again, _ = ask(
        node, request(spec, base=own, steps=(RemoteStep(op="local", round=2),), keep=0), down(spec)
    )
    assert again.steps[0].error is None


def test_work_whose_reply_got_lost_never_happened(node, spec):
    first, _ = ask(node, request(spec), down(spec))
    ask(
        node,
        request(spec, base=first.steps[0].own, steps=(RemoteStep(op="local", round=2),)),
        down(spec),
    )
    again = request(spec, base=first.steps[0].own, steps=(RemoteStep(op="local", round=3),))
    third, sent = ask(node, again, down(spec))  # the server never heard of round 2
    fresh = made_anew(node, spec)
    ask(fresh, request(spec), down(spec))
    assert ask(fresh, again, down(spec))[1] == sent
    assert third.steps[0].own.round == 3


def test_a_late_copy_of_an_older_request_changes_no_state_that_is_needed(node, spec):
    """A server that was killed does a round again, with another message; then the network delivers
    once more what it had asked before.
    """
    first, _ = ask(node, request(spec), down(spec))
    base, second = first.steps[0].own, (RemoteStep(op="local", round=2),)
    before = ask(node, request(spec, base=base, steps=second), down(spec))
    again = ask(node, request(spec, base=base, steps=second), moved(spec))
    assert again[1] != before[1]
    late = ask(node, request(spec, base=base, steps=second), down(spec))
    known = again[0].steps[0].own
    third, _ = ask(
        node,
        request(spec, base=known, keep=1, steps=(RemoteStep(op="local", round=3),)),
        moved(spec),
    )
    assert [third.error, third.steps[0].error, third.steps[0].own.round] == [None, None, 3]
    assert late == before
    assert ask(node, request(spec, base=base, steps=second), moved(spec)) == again
    assert ask(node, request(spec, base=base, steps=second), down(spec)) == before
    ask(
        node,
        request(spec, base=third.steps[0].own, keep=3, steps=(RemoteStep(op="evaluate", round=3),)),
    )
    assert [path.name for path in node.state.glob("*/*.commit")] == ["3.commit"]


def moved(spec) -> bytes:
    """Another message of the server than ``down``."""
    return encode(map_tree(lambda x: x + 1 / 8, decode(down(spec))))


def made_anew(node: Node, spec) -> Node:
    folder = node.folder / "other"
    folder.mkdir()
    return made(folder, spec)


def test_states_that_nobody_will_ask_for_are_removed(node, spec):
    base = Base()
    for number in range(1, 5):
        step = (RemoteStep(op="local", round=number),)
        reply, _ = ask(
            node, request(spec, base=base, steps=step, keep=max(0, number - 1)), down(spec)
        )
        base = reply.steps[0].own
    assert sorted(path.name for path in node.state.glob("*/*.commit")) == ["3.commit", "4.commit"]


def test_scores_are_sent_although_the_model_cannot_be_kept(tmp_path, monkeypatch, capsys):
    spec = small("ditto", run__clients=4, run__participation=1.0, run__rounds=1)
    node = made(tmp_path, spec)
    first, _ = ask(node, request(spec), down(spec))

    def full(*_):
        raise FedkinError("no room")

    monkeypatch.setattr(Work, "_keep_model", full)
    last = request(
        spec, base=first.steps[0].own, steps=(RemoteStep(op="evaluate_all", round=2),), keep=0
    )
    reply, _ = ask(node, last, down(spec))
    assert reply.steps[0].error is None
    assert reply.steps[0].scores["personal"]["test"]
    assert "the model of this run is not kept for export: no room" in capsys.readouterr().err


def test_a_finish_after_an_early_end_has_the_rate_of_the_next_round(tmp_path):
    states = []
    for name, later in (("cut", {"train__milestones": [9]}), ("even", {})):
        spec = small("finetune", run__clients=4, run__rounds=9, **later)
        (tmp_path / name).mkdir()
        finish = (
            RemoteStep(op="finish", round=10, trained=3),
            RemoteStep(op="evaluate_all", round=10),
        )
        reply, _ = ask(made(tmp_path / name, spec), request(spec, steps=finish), down(spec))
        assert [one.error for one in reply.steps] == [None, None]
        states.append(reply.steps[0].own.digest)
    assert states[0] == states[1] != ""


def tree(number: float) -> dict[str, dict[str, torch.Tensor]]:
    return {"parameters": {"w": torch.tensor([number])}}


class Masks:
    """What a host holds back: an update, and scores with their record."""

    def __init__(self) -> None:
        self.begun: list[tuple[int, int, float, float]] = []
        self.record = Evaluation({"personal": {"test": (0.25, 0.5)}})

    def waiting(self, client, last="reveal"):
        assert client == 2
        if last == "reveal":
            return SimpleNamespace(message=tree(7.0))
        return SimpleNamespace(record=self.record) if last == "score_reveal" else None

    def begin(self, round, client, message, weight, heard):
        assert heard == broadcast_digest(b"down")
        self.begun.append((round, client, message["parameters"]["w"].item(), weight))
        return b"other keys"


class Played:
    """A host of client 2 whose work leaves a state of its round; it plays what nodes compute."""

    def __init__(self, masking=None) -> None:
        self.masking, self.schedule = masking, SimpleNamespace(rounds=3)
        self.store, self.did = Memory(), []
        self.error: str | None = None
        self.population = SimpleNamespace(
            rows=lambda split: {2: range({"train": 5, "val": 3, "test": 1}[split])}
        )

    def personal_state(self, client):
        return self.store.get(client) or {}

    def digest(self, client):
        return sha(self.personal_state(client))

    def do(self, op, round, orders):
        ((client, message, _),) = orders
        self.did.append((op, round, message))
        if self.error:
            return [TaskResult(client, error=self.error)]
        if op in ("local", "finish"):
            self.store.put(client, tree(10.0 + round))
        sent = encode({"personal": {"w": torch.tensor([5.0])}} if op == "views" else tree(6.0))
        record = Evaluation({"personal": {"test": (0.5, 0.75)}})
        return [TaskResult(client, sent, 9.0, record=record, seconds=4.0)]


def sha(state) -> str:
    return hashlib.sha256(encode(state)).hexdigest()


def work(host, folder, *steps, joined=None, message=b"down", base=None, keep=0) -> Work:
    place = Place(client=2, clients=4, classes=10, architecture="mlr", joined=joined)
    asked = tuple(RemoteStep(op=op, round=at) for op, at in steps)
    asked = request(small(), steps=asked, place=place, base=base or Base(), keep=keep)
    about = lambda: {"version": "1"}  # noqa: E731
    return Work(host, NodeStore(folder), asked, message, about, RequestLog(folder))


@pytest.mark.parametrize(
    ("masked", "op", "round", "told", "over"),
    [
        (False, "evaluate_all", 4, {}, True),
        (False, "evaluate_all", 3, {}, False),  # the last round is still to be finished
        (False, "evaluate", 4, {}, False),
        (False, "evaluate_all", 6, {"joined": 2}, False),  # a newcomer may be asked again
        (False, "score_reveal", 4, {}, False),
        (True, "score_reveal", 4, {}, True),
        (True, "score_reveal", 3, {}, False),
        (True, "score_masked", 4, {}, False),  # its sum is still to be unmasked
        (True, "score_shares", 4, {}, False),
        (True, "evaluate_all", 4, {}, False),
    ],
)
def test_a_run_is_over_after_the_last_thing_that_is_asked(masked, op, round, told, over, tmp_path):
    """By its end the node answers nothing new; before, it keeps what it holds back."""
    host = Played(Masks() if masked else None)
    NodeStore(tmp_path).put(MODEL, Commit("", b"", None, {}))
    work(host, tmp_path, (op, round), **told).all()
    assert RequestLog(tmp_path).done is over


def test_a_run_is_not_over_where_its_last_work_failed_or_no_model_is_kept(tmp_path, monkeypatch):
    host = Played()
    host.error = "it broke"
    NodeStore(tmp_path / "a").put(MODEL, Commit("", b"", None, {}))
    ((done,), sent) = work(host, tmp_path / "a", ("evaluate_all", 4)).all()
    assert (done.error, done.message, sent) == ("it broke", False, [])
    assert not RequestLog(tmp_path / "a").done
    host.error = None
    monkeypatch.setattr(Work, "_keep_model", lambda *_: None)
    work(host, tmp_path / "b", ("evaluate_all", 4)).all()
    assert not RequestLog(tmp_path / "b").done


def test_the_model_of_a_run_is_kept_with_all_that_its_use_needs(tmp_path):
    for name, masking in (("plain", None), ("masked", Masks())):
        host = Played(masking)
        asked = work(host, tmp_path / name, ("evaluate", 3), ("evaluate_all", 4))
        done, sent = asked.all()
        assert [one[:2] for one in host.did] == [("evaluate", 3), ("evaluate_all", 4), ("views", 4)]
        assert {one[2] for one in host.did} == {b"down"}
        assert len(sent) == 2
        assert [one.message for one in done] == [True, True]
        kept = NodeStore(tmp_path / name).find(MODEL)
        assert (kept.key, kept.message) == (asked.request.experiment, None)
        assert decode(kept.state)["w"].tolist() == [5.0]
        assert kept.details == {
            "version": "1",
            "scores": {"personal": {"test": [0.25, 0.5] if masking else [0.5, 0.75]}},
            "notes": {},
            "measures": {},
            "place": asked.place.model_dump(),
            "round": 4,
            "trained": 3,
            "again": 0,
            "took_part": 0,
            "samples": {"train": 5, "val": 3, "test": 1},
        }
        assert [one.scores["personal"]["test"] for one in done] == [(0.5, 0.75)] * 2


def test_a_model_is_kept_once_and_states_are_removed_until_then(tmp_path):
    for round in (1, 2):
        NodeStore(tmp_path).put(round, Commit("", encode(tree(round)), None, {}))
    work(Played(), tmp_path, ("evaluate", 2), keep=2).all()
    assert NodeStore(tmp_path).find(1) is None
    assert NodeStore(tmp_path).find(2) is not None
    RequestLog(tmp_path).finish()
    host = Played()
    work(host, tmp_path, ("evaluate_all", 4), keep=3).all()
    assert [one[0] for one in host.did] == ["evaluate_all"]
    assert NodeStore(tmp_path).find(MODEL) is None
    assert NodeStore(tmp_path).find(2) is not None  # what is over stays as it was


def test_work_that_was_done_is_answered_from_what_was_kept(tmp_path):
    """Its state is the next step's, and under masks its update is hidden by new keys."""
    for name, masking, sent in (("plain", None, encode(tree(6.0))), ("masked", Masks(), None)):
        host = Played(masking)
        steps = ("local", 1), ("finish", 2)
        first = work(host, tmp_path / name, *steps)
        done, _ = first.all()
        assert [one.own.round for one in done] == [1, 2]
        assert [one.own.digest for one in done] == [sha(tree(11.0)), sha(tree(12.0))]
        kept = NodeStore(tmp_path / name).find(1)
        assert decode(kept.message) == (tree(6.0) if masking is None else tree(7.0))
        assert NodeStore(tmp_path / name).find(2).message == encode(tree(6.0))
        host.did.clear()
        again, found = work(host, tmp_path / name, *steps).all()
        assert not host.did
        assert [one.own for one in again] == [one.own for one in done]
        assert [(one.weight, one.seconds) for one in again] == [(9.0, 4.0)] * 2
        assert found == [sent or b"other keys", encode(tree(6.0))]
        assert masking is None or masking.begun == [(1, 2, 7.0, 9.0)]
        work(host, tmp_path / name, ("local", 1), message=b"else").all()
        assert host.did == [("local", 1, b"else")]


def test_work_whose_commit_is_damaged_is_done_again(tmp_path, capsys):
    """A disk that spoils what was done costs its time, and no round of the run."""
    host = Played()
    done, sent = work(host, tmp_path, ("local", 1)).all()
    (tmp_path / "1.commit").write_bytes(b"half")
    host.did.clear()
    again, found = work(host, tmp_path, ("local", 1)).all()
    assert host.did == [("local", 1, b"down")]
    assert ([one.own for one in again], found) == ([one.own for one in done], sent)
    assert f"{tmp_path / '1.commit'} is damaged" in capsys.readouterr().err
    host.did.clear()
    kept, found = work(host, tmp_path, ("local", 1)).all()
    assert ([one.own for one in kept], found, host.did) == ([one.own for one in done], sent, [])
    known = again[0].own
    later, _ = work(host, tmp_path, ("local", 2), base=known).all()
    assert later[0].own == Base(round=2, digest=sha(tree(12.0)))
    for left in tmp_path.glob("1*.commit"):
        left.write_bytes(b"half")
    with pytest.raises(FedkinError, match=r"1.*\.commit is damaged"):  # nobody has it any more
        work(host, tmp_path, ("local", 2), base=known)


def test_work_begins_from_the_state_that_the_server_knows(tmp_path):
    NodeStore(tmp_path).put(2, Commit("", encode(tree(7.0)), None, {}))
    host = Played()
    host.store.put(2, tree(9.0))  # of work whose reply got lost
    known = Base(round=2, digest=sha(tree(7.0)))
    for base in (known, Base(round=2)):
        assert work(host, tmp_path, ("local", 3), base=base).own == known
    assert work(host, tmp_path, ("local", 1)).own == Base(round=0, digest=sha({}))
    for base, why in ((Base(round=2, digest="ab" * 32), "round 2 is not the one that the feder"),
                      (Base(round=1), "round 1 is not on this node any more")):  # fmt: skip
        with pytest.raises(FedkinError, match=why):
            work(host, tmp_path, ("local", 3), base=base)


def test_a_model_that_cannot_be_shown_is_told(tmp_path, capsys):
    class Silent(Played):
        def do(self, op, round, orders):
            (answer,) = super().do(op, round, orders)
            return [TaskResult(2, error="no view")] if op == "views" else [answer]

    ((done,), _) = work(Silent(), tmp_path, ("evaluate_all", 4)).all()
    assert done.error is None
    assert "not kept for export: no view" in capsys.readouterr().err
