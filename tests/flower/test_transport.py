"""The transport, beside a dispatcher that answers as the test says."""

import json

import pytest

pytest.importorskip("flwr")

from fedkin.core.errors import FedkinError
from fedkin.engine.op import Task
from fedkin.engine.store import StoreError
from fedkin.flower.envelope import Base, Done, NodeReply, Place, Request
from fedkin.flower.survivors import NOT_A_SURVIVOR, Survivors
from fedkin.flower.transport import NAMES, FlowerTransport, answers_of

WHO = {"version": "", "experiment": "", "run": "", "name": ""}
SCORES = {"personal": dict.fromkeys(("train", "val", "test"), (0.5, 0.5))}
PLACES = {k: (f"c{k}", Place(client=k, clients=3, classes=2, architecture="mlr")) for k in range(3)}


def sha(client: int, round: int) -> str:
    return f"{client:02x}{round:02x}" * 16


class Nodes:
    """Every step is done; ``away`` replies nothing; ``broken`` fails at its steps."""

    def __init__(self) -> None:
        self.asked: list[Request] = []
        self.away: set[str] = set()
        self.unreached: set[str] = set()
        self.broken: set[str] = set()
        self.remarks = ["b", "a"]

    def request(self, name, **content):
        return Request(**{**WHO, "name": name, **content})

    def exchange(self, requests, enough):
        self.enough = enough
        self.reached = set(requests) - self.unreached
        return {name: self._reply(name, *told) for name, told in requests.items()}

    def _reply(self, name, request, message):
        self.asked.append(request)
        if name in self.away:
            return "it is away"
        done, own = [], request.base
        for step in request.steps:
            if step.op in ("local", "finish"):
                own = Base(round=step.round, digest=sha(request.place.client, step.round))
            own = own if own.digest else Base(round=0, digest=sha(request.place.client, 0))
            error = "it broke" if name in self.broken else None
            what = {"message": step.op == "local", "weight": 2.0, "seconds": 3.0}
            done.append(Done(op=step.op, round=step.round, own=own, error=error,
                             scores={} if step.op == "local" else SCORES, **what))  # fmt: skip
        sent = [f"{one.op} {one.round}".encode() for one in done if one.message]
        return NodeReply(**{**WHO, "steps": tuple(done)}), sent


@pytest.fixture
def nodes():
    return Nodes()


def needed(op, round):
    return {"local": round, "masked": 2, "evaluate_all": 3}.get(op, 0)


@pytest.fixture
def transport(nodes, tmp_path):
    def then(number):
        return [("local", number + 1, [0, 2]), ("evaluate_all", number + 1, [2])]

    return FlowerTransport(nodes, PLACES, then, needed, Survivors(tmp_path / "s"))


def orders(message=b"down", clients=(0, 1, 2)):
    return [Task(client, message) for client in clients]


def test_what_follows_an_evaluation_waits_for_the_same_message(transport, nodes):
    found = {one.client: one for one in transport.ask("evaluate", 1, orders())}
    assert sorted(found) == [0, 1, 2]
    assert all(one.message is None and one.record.scores == SCORES for one in found.values())
    steps = {one.name: [(step.op, step.round) for step in one.steps] for one in nodes.asked}
    assert steps == {
        "c0": [("evaluate", 1), ("local", 2)],
        "c1": [("evaluate", 1)],
        "c2": [("evaluate", 1), ("local", 2), ("evaluate_all", 2)],
    }
    nodes.asked.clear()
    found = {one.client: one for one in transport.ask("local", 2, orders(clients=(0, 1)))}
    assert [one.name for one in nodes.asked] == ["c1"]
    for client in (0, 1):
        answer = found[client]
        assert (answer.message, answer.weight, answer.seconds) == (b"local 2", 2.0, 3.0)
        assert (answer.error, answer.version) == (None, 1)
    nodes.asked.clear()
    list(transport.ask("local", 2, orders(b"another", (2,))))
    assert [one.name for one in nodes.asked] == ["c2"]
    assert [(step.op, step.round) for step in nodes.asked[0].steps] == [("local", 2)]


def test_whom_no_message_reached_is_told_apart_from_who_did_not_reply(transport, nodes):
    nodes.away, nodes.unreached = {"c0", "c1"}, {"c1"}
    found = {one.client: (one.error, one.reached) for one in transport.ask("local", 1, orders())}
    assert found == {0: ("it is away", True), 1: ("it is away", False), 2: (None, True)}


def test_a_finish_after_an_early_end_tells_nodes_which_round_was_the_last(transport, nodes):
    list(transport.ask("finish", 9, [Task(1, b"down", trained=4)]))
    ((step,),) = (one.steps for one in nodes.asked)
    assert (step.op, step.round, step.trained) == ("finish", 9, 4)


def test_states_are_known_by_their_receipts(transport, nodes, tmp_path):
    list(transport.ask("evaluate", 0, orders(clients=(1,))))
    assert transport.digests([0, 1]) == {0: "", 1: sha(1, 0)}
    assert transport.save(tmp_path, 0) == []
    list(transport.ask("local", 1, orders(clients=(2, 0))))
    assert transport.digests([0, 2]) == {0: sha(0, 1), 2: sha(2, 1)}
    assert transport.save(tmp_path, 1) == [0, 2]
    assert transport.save(tmp_path, 2) == []
    receipts = sorted(path.name for path in tmp_path.iterdir())
    assert len(receipts) == 2
    nodes.asked.clear()
    list(transport.ask("local", 3, orders()))
    assert [(one.base.round, one.base.digest, one.keep) for one in nodes.asked] == [
        (1, sha(0, 1), 1), (0, "", 0), (1, sha(2, 1), 1),
    ]  # fmt: skip
    later = FlowerTransport(
        nodes, PLACES, lambda number: [], lambda op, round: 1, Survivors(tmp_path / "s")
    )
    later.load({k: tmp_path / name for k, name in zip((0, 2), receipts, strict=True)})
    assert later.digests([0, 1, 2]) == {0: sha(0, 1), 1: "", 2: sha(2, 1)}
    nodes.asked.clear()
    list(later.ask("local", 3, orders()))
    assert [(one.base.round, one.keep) for one in nodes.asked] == [(1, 1), (0, 0), (1, 1)]
    assert nodes.asked[0].place == PLACES[0][1]


def test_what_is_kept_is_what_was_committed_before(transport, nodes, tmp_path):
    for round in (1, 2, 3):
        list(transport.ask("local", round, orders(clients=(0,))))
        transport.save(tmp_path, round)
    assert [one.keep for one in nodes.asked] == [0, 0, 1]
    assert [one.base.round for one in nodes.asked] == [0, 1, 2]


def test_who_is_away_at_an_evaluation_is_told_and_work_is_missed(transport, nodes):
    nodes.away, nodes.broken = {"c1"}, {"c2"}
    assert [one.client for one in transport.ask("evaluate", 1, orders())] == [0]
    said = ["c1 was not evaluated: it is away", "c2 was not evaluated: it broke"]
    assert transport.remarks() == ["a", "b", *said]
    found = {one.client: one.error for one in transport.ask("local", 2, orders())}
    assert found == {0: None, 1: "it is away", 2: "it broke"}
    assert transport.digests([0, 1, 2]) == {0: sha(0, 2), 1: "", 2: ""}
    assert transport.own[2] == Base()
    assert transport.remarks() == ["a", "b", *said]


def test_what_a_client_says_of_its_scores_is_told_in_a_few_lines(transport, nodes, monkeypatch):
    why = iter([f"reason {k}" for k in (0, 0, 1, 2, 3, 4, 5, 6)])
    monkeypatch.setattr(nodes, "_reply", lambda *_: next(why))
    for round in range(8):
        assert not list(transport.ask("evaluate", round, orders(clients=(1,))))
    assert transport.remarks()[2:] == [
        "c1 was not evaluated: for other reasons (3 times)",
        "c1 was not evaluated: reason 0 (2 times)",
        *(f"c1 was not evaluated: reason {k}" for k in (1, 2, 3)),
    ]


def test_a_client_may_name_few_models_and_notes_in_a_whole_run(transport, nodes, monkeypatch):
    """Each is a chart of the report: with others in every round it would grow without end."""
    own = SCORES
    for round in range(1, 60):
        monkeypatch.setitem(globals(), "SCORES", {**own, f"view {round}": own["personal"]})
        answers = list(transport.ask("evaluate", round, orders(b"%d" % round)))
        assert len(answers) == (3 if round < NAMES else 0)  # "personal" is a name as well
    monkeypatch.setitem(globals(), "SCORES", own)
    assert len(list(transport.ask("evaluate", 60, orders(b"60")))) == 3
    assert "c1 was not evaluated: it has named more than 48 models and notes (12 times)" in (
        transport.remarks()
    )


def test_replies_are_enough_where_the_run_can_go_on_with_each_op(transport):
    steps = {0: [("evaluate", 1), ("local", 2)], 1: [("local", 2)], 2: [("local", 1)]}
    enough = transport._enough(steps)
    assert not enough({"c0", "c1"})
    assert not enough({"c0", "c2"})
    assert enough({"c0", "c1", "c2"})
    assert transport._enough({0: [("local", 9)]})({"c0"})  # nobody else is asked
    assert transport._enough({0: [("evaluate", 1)]})(set())
    assert not transport._enough({k: [("local", 2)] for k in range(3)})({"c0"})
    assert transport._enough({k: [("local", 2)] for k in range(3)})({"c0", "c2"})
    assert not transport._enough({k: [("masked", 2)] for k in range(3)})({"c0"})
    assert transport._enough({k: [("masked", 2)] for k in range(3)})({"c0", "c1"})
    last = {k: [("local", 1), ("evaluate_all", 2)] for k in range(3)}
    assert not transport._enough(last)({"c0", "c1"})


def test_an_evaluation_without_scores_of_the_personal_model_is_none():
    def answer(op, scores=SCORES, error=None, message=False):
        done = Done(op=op, round=3, scores=scores, error=error, message=message)
        reply = NodeReply(**{**WHO, "steps": (done,)})
        ((found, _),) = answers_of(7, [(op, 3)], (reply, [b"keys"] if message else []))
        return found

    less = {"personal": {"test": (0.5, 0.5)}}
    for op in ("evaluate", "evaluate_all"):
        found = answer(op, less)
        assert (found.client, found.error) == (7, "its reply has no scores of its personal model")
        assert answer(op, {}).error == found.error
        assert answer(op).error is None
        assert answer(op, {}, "it broke").error == "it broke"
        assert (answer(op, {}, message=True).error, answer(op, {}, message=True).message) == (
            None, b"keys",
        )  # fmt: skip
    assert answer("local", {}).error is None
    away = answers_of(7, [("local", 3), ("evaluate", 3)], "why")
    assert [(one.client, one.error, own) for one, own in away] == [(7, "why", Base())] * 2


def test_a_set_of_survivors_is_on_the_disk_before_it_is_asked_for(transport, nodes, tmp_path):
    def ask(of, op, round, *clients):
        return {
            one.client: one.error for one in of.ask(op, round, [Task(k, b"m") for k in clients])
        }

    path, seen = tmp_path / "s", []
    exchange = nodes.exchange
    nodes.exchange = lambda *told, **named: [
        seen.append(path.read_text() if path.exists() else ""), exchange(*told, **named)
    ][1]  # fmt: skip
    ask(transport, "shares", 3, 0, 1, 2)
    ask(transport, "reveal", 3, 0, 1)
    assert seen == ["", '{"reveal 3": [0, 1]}']

    again = FlowerTransport(
        nodes, PLACES, lambda number: [("local", number + 1, (0, 1, 2))], needed, Survivors(path)
    )
    assert ask(again, "local", 3, 0, 1, 2) == {0: None, 1: None, 2: NOT_A_SURVIVOR}
    nodes.asked.clear()
    assert set(ask(again, "evaluate", 2, 0, 1, 2)) == {0, 1, 2}  # of another sum
    assert [len(one.steps) for one in nodes.asked] == [2, 2, 1]
    assert ask(again, "local", 4, 2) == {2: None}
    before = len(seen)
    with pytest.raises(
        FedkinError, match=r"^round 3: the masks of clients 0, 1 .* of them 0 cannot"
    ):
        ask(again, "reveal", 3, 1)
    assert len(seen) == before
    assert ask(again, "reveal", 3, 1, 0) == {1: None, 0: None}
    ask(again, "count_reveal", 3, 1, 2)
    assert set(ask(again, "evaluate", 3, 0, 1, 2)) == {1, 2}
    ask(again, "score_reveal", 3, 1)
    assert ask(again, "score_keys", 3, 1, 2) == {1: None, 2: NOT_A_SURVIVOR}
    for round, kept in ((3, {"reveal 3", "count_reveal 3", "score_reveal 3"}), (4, set())):
        again.save(tmp_path, round)
        assert set(json.loads(path.read_text())) == kept


def test_where_nodes_sign_their_survivors_that_set_is_kept(transport, nodes, tmp_path):
    """Who signed is asked to take the masks off: fewer than were told."""

    def ask(of, op, round, *clients):
        return {
            one.client: one.error for one in of.ask(op, round, [Task(k, b"m") for k in clients])
        }

    path = tmp_path / "s"
    firsts = ("", "count_", "score_")
    for first in firsts:
        ask(transport, f"{first}agree", 3, 0, 1)
        ask(transport, f"{first}reveal", 3, 1)
    noted = {f"{first}agree 3": [0, 1] for first in firsts}
    assert json.loads(path.read_text()) == noted
    again = FlowerTransport(nodes, PLACES, lambda number: [], needed, Survivors(path))
    for op in ("local", "score_keys"):
        assert ask(again, op, 3, 0, 1, 2) == {0: None, 1: None, 2: NOT_A_SURVIVOR}
    assert set(ask(again, "evaluate", 3, 0, 1, 2)) == {0, 1}
    for first in firsts:
        with pytest.raises(
            FedkinError, match=r"^round 3: the masks of clients 0, 1 .* of them 0 c"
        ):
            ask(again, f"{first}agree", 3, 1)
        assert ask(again, f"{first}agree", 3, 1, 0) == {1: None, 0: None}
        assert ask(again, f"{first}reveal", 3, 0) == {0: None}
    assert json.loads(path.read_text()) == noted
    for round, kept in ((3, noted), (4, {})):
        again.save(tmp_path, round)
        assert json.loads(path.read_text()) == kept


@pytest.mark.parametrize("text", ["", "[]", '{"reveal 3": 1}', '{"reveal x": [0]}', '{"a": ["0"]}'])
def test_a_list_of_survivors_that_is_none_is_refused(text, tmp_path):
    (tmp_path / "s").write_text(text)
    with pytest.raises(StoreError, match="is no list of survivors"):
        Survivors(tmp_path / "s")
