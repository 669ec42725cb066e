"""A node's work: once for each request, and states that are still needed."""

import pytest

from fedkin.core.errors import FedkinError
from fedkin.flower.envelope import Base, Step
from fedkin.flower.node.host import Node
from fedkin.flower.node.work import Work
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


def test_work_whose_reply_got_lost_never_happened(node, spec):
    first, _ = ask(node, request(spec), down(spec))
    ask(
        node, request(spec, base=first.steps[0].own, steps=(Step(op="local", round=2),)), down(spec)
    )
    again = request(spec, base=first.steps[0].own, steps=(Step(op="local", round=3),))
    third, sent = ask(node, again, down(spec))  # the server never heard of round 2
    fresh = made_anew(node, spec)
    ask(fresh, request(spec), down(spec))
    assert ask(fresh, again, down(spec))[1] == sent
    assert third.steps[0].own.round == 3


def made_anew(node: Node, spec) -> Node:
    folder = node.folder / "other"
    folder.mkdir()
    return made(folder, spec)


def test_states_that_nobody_will_ask_for_are_removed(node, spec):
    base = Base()
    for number in range(1, 5):
        step = (Step(op="local", round=number),)
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
    last = request(spec, base=first.steps[0].own, steps=(Step(op="evaluate_all", round=2),), keep=0)
    reply, _ = ask(node, last, down(spec))
    assert reply.steps[0].error is None
    assert reply.steps[0].scores["personal"]["test"]
    assert "the model of this run is not kept for export: no room" in capsys.readouterr().err
