"""A server that wants more than its experiment: a node refuses it, and keeps what it has."""

import pytest

pytest.importorskip("flwr")

from fedkin.engine.codec import decode, encode
from fedkin.flower.envelope import Base, NodeReply, Place, RemoteStep, sealed
from fedkin.flower.node import request_log
from tests.engine.small import small
from tests.flower.node.host_examples import RUN, ask, down, made, request


@pytest.fixture
def spec():
    return small("ditto", run__clients=4, run__participation=1.0, run__rounds=3)


@pytest.fixture
def node(tmp_path, spec):
    return made(tmp_path, spec)


def other(spec, number: int) -> bytes:
    """The message of a round with one number changed."""
    tree = decode(down(spec))
    next(iter(tree["parameters"].values())).view(-1)[0] = 0.001 * (number + 1)
    return encode(tree)


def files(node) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in node.state.glob("*/*.commit")}


def work(spec, round, base=None, keep=0, op="local", **changes):
    return request(
        spec, steps=(RemoteStep(op=op, round=round),), base=base or Base(), keep=keep, **changes
    )


def test_states_that_are_needed_are_not_removed(node, spec):
    first, _ = ask(node, work(spec, 1), down(spec))
    before = files(node)
    base = first.steps[0].own
    for keep in (2, 10**6):
        assert "still needed" in ask(node, work(spec, 2, base, keep), down(spec))[0].error
    assert files(node) == before


@pytest.mark.parametrize(
    ("op", "round"),
    [
        ("local", 4),
        ("local", 0),
        ("evaluate", 4),
        ("finish", 5),
        ("evaluate_all", 10**6),
        ("local", 10**7),
    ],
)
def test_rounds_beyond_the_run_are_refused(node, spec, op, round):
    reply, sent = ask(node, work(spec, round, op=op), down(spec))
    assert f"{op} {round} is no round of this run, which has 3" in reply.error
    assert not sent
    assert not files(node)


def test_a_round_is_not_asked_with_new_content_without_end(node, spec, tmp_path, monkeypatch):
    monkeypatch.setattr(request_log, "MOST_CONTENTS", 3)
    for number in range(3):
        assert ask(node, work(spec, 1), other(spec, number))[0].error is None
    refused = "local 1 was asked 3 times already, with different messages"
    assert refused in ask(node, work(spec, 1), other(spec, 7))[0].error
    assert ask(node, work(spec, 1), other(spec, 2))[0].error is None  # nothing new
    again = made(tmp_path, spec)  # its host was started again
    assert refused in ask(again, work(spec, 1), other(spec, 8))[0].error
    looks = [
        ask(again, work(spec, 0, op="evaluate"), other(spec, number))[0].error
        for number in range(5)
    ]
    assert [look is None for look in looks] == [True, True, True, False, False]


def test_a_finished_run_stays_as_it_is(node, spec, tmp_path):
    base = Base()
    for number in (1, 2, 3):
        reply, _ = ask(node, work(spec, number, base), down(spec))
        base = reply.steps[0].own
    last = work(spec, 4, base, op="evaluate_all")
    first, _ = ask(node, last, down(spec))
    assert first.error is None
    before = files(node)
    assert "model.commit" in before
    for there in (node, made(tmp_path, spec)):
        for asked in (last, work(spec, 1)):
            assert "finished on this node" in ask(there, asked, other(spec, 5))[0].error
        again, _ = ask(there, last, down(spec))
        assert again.steps[0].scores == first.steps[0].scores
        assert files(there) == before


def test_a_server_that_died_before_it_recorded_the_end_hears_it_again(tmp_path):
    """It had asked for the end together with the last evaluation, and asks one by one now."""
    spec = small("finetune", run__clients=4, run__participation=1.0, run__rounds=1)
    node = made(tmp_path, spec)
    base = ask(node, work(spec, 1), down(spec))[0].steps[0].own
    ends = (RemoteStep(op="evaluate", round=1), RemoteStep(op="finish", round=2), LAST)
    _, finish, last = ask(node, request(spec, steps=ends, base=base), down(spec))[0].steps
    (finished,) = ask(node, work(spec, 2, base, op="finish"), down(spec))[0].steps
    assert finished.own == finish.own
    again, _ = ask(node, request(spec, steps=(LAST,), base=finished.own), down(spec))
    assert again.error is None
    assert (again.steps[0].scores, again.steps[0].own) == (last.scores, last.own)


LAST = RemoteStep(op="evaluate_all", round=2)


def test_a_node_holds_so_many_runs(node, spec, monkeypatch):
    monkeypatch.setattr(request_log, "MOST_RUNS", 2)
    for run in ("00" * 8, "01" * 8):
        assert ask(node, work(spec, 1, run=run), down(spec))[0].error is None
    assert "this node holds 2 runs" in ask(node, work(spec, 1, run="02" * 8), down(spec))[0].error
    assert ask(node, work(spec, 1, run="01" * 8), down(spec))[0].error is None


def test_work_without_a_run_is_refused(node, spec):
    assert "names its run" in ask(node, work(spec, 1, run=""), down(spec))[0].error
    assert not list(node.state.glob("*.commit"))


@pytest.mark.parametrize(
    "place",
    [
        '"clients": 1000000000000',
        '"classes": 10000000',
        '"client": -1',
        '"joined": 10000000000000000000000000000000',
    ],
)
def test_places_of_enormous_federations_are_refused(node, spec, place):
    name = place.split(":")[0]
    header = sealed(request(spec)).decode()
    known = {"clients": 4, "classes": 10, "client": 1, "joined": "null"}[name.strip('"')]
    assert f"{name}:{known}" in header
    (answer,) = node.answer([header.replace(f"{name}:{known}", place).encode(), down(spec)])
    assert "malformed" in NodeReply.model_validate_json(answer).error


def test_what_no_check_foresaw_does_not_end_the_host(node, spec, monkeypatch, capfd):
    def fails(*_):
        raise MemoryError("no room for 'HIV positive'")

    monkeypatch.setattr("fedkin.flower.node.host.models_at", fails)
    (answer,) = node.answer([sealed(request(spec)), down(spec)])
    error = NodeReply.model_validate_json(answer).error
    assert error == "its host failed: MemoryError, of which its log says more"
    assert "HIV positive" in capfd.readouterr().err
    assert "malformed" in NodeReply.model_validate_json(node.answer([])[0]).error


def test_a_run_of_another_form_is_malformed(node, spec):
    header = sealed(request(spec)).decode().replace(RUN, "../../etc")
    (answer,) = node.answer([header.encode(), down(spec)])
    assert "malformed: run" in NodeReply.model_validate_json(answer).error
    assert Place(client=1, clients=4, classes=10, architecture="mlr").joined is None
