"""A node alone: what it refuses, and that work is done once however often it is asked for."""

import math
import os

import pytest
from filelock import FileLock

from fedkin.core.errors import FedkinError
from fedkin.engine.codec import decode, encode
from fedkin.flower.envelope import Base, NodeReply, Place, Step
from fedkin.flower.node import host
from tests.engine.small import small
from tests.flower.node.host_examples import ask, down, made, request


@pytest.fixture
def spec():
    return small("ditto", run__clients=4, run__participation=1.0, run__rounds=9)


@pytest.fixture
def node(tmp_path, spec):
    return made(tmp_path, spec)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"experiment": "ab" * 32}, "experiment"),
        ({"name": "c2"}, "client"),
        ({"version": "0.0"}, "fedkin"),
        ({"place": Place(client=1, clients=5, classes=10, architecture="mlr")}, "4 clients, not 5"),
        ({"place": Place(client=4, clients=4, classes=10, architecture="mlr")}, "clients"),
        ({"place": Place(client=1, clients=4, classes=10, architecture="dnn")}, "architecture"),
        (
            {"base": Base(round=7), "steps": (Step(op="local", round=8),)},
            "round 7 is not on this node",
        ),
    ],
)
def test_what_is_not_for_this_node_is_refused(node, spec, changes, reason):
    reply, sent = ask(node, request(spec, **changes), down(spec))
    assert reason in reply.error
    assert not reply.steps
    assert not sent
    assert not list(node.state.glob("*/*.commit"))


def test_a_state_that_the_federation_does_not_know_is_refused(node, spec):
    first, _ = ask(node, request(spec), down(spec))
    wrong = Base(round=1, digest="00" * 32)
    reply, _ = ask(node, request(spec, base=wrong, steps=(Step(op="local", round=2),)), down(spec))
    assert "not the one that the federation knows" in reply.error
    assert first.steps[0].own.digest != wrong.digest


@pytest.mark.parametrize("header", [b"", b"{}", b"\x80\x04.", b'{"protocol": 1}', b"[" * 100_000])
def test_headers_that_are_not_ours_are_refused(node, header):
    reply = NodeReply.model_validate_json(node.answer([header])[0])
    assert "malformed" in reply.error


def test_messages_that_are_not_the_codecs_are_refused(node, spec):
    import pickle

    for blob in (pickle.dumps({"parameters": 1}), b"", b"\xff" * 100, encode({"secrets": {}})):
        reply, _ = ask(node, request(spec), blob)
        assert reply.error
    tree = decode(down(spec))
    next(iter(tree["parameters"].values())).view(-1)[0] = float("inf")
    assert "infinity" in ask(node, request(spec), encode(tree))[0].error
    assert "at most one" in ask(node, request(spec), down(spec), down(spec))[0].error


def test_a_message_of_wrong_shapes_changes_nothing(node, spec):
    tree = decode(down(spec))
    name = next(iter(tree["parameters"]))
    tree["parameters"][name] = tree["parameters"][name][:-1].contiguous()
    reply, sent = ask(node, request(spec), encode(tree))
    assert reply.steps[0].error
    assert reply.steps[0].own.round == 0
    assert not sent


def test_another_experiment_is_accepted_when_its_file_is_put_in_place(node, spec, tmp_path):
    ask(node, request(spec), down(spec))
    other = small("fedavg", run__clients=4, run__participation=1.0)
    made(tmp_path, other)
    assert ask(node, request(other), down(other))[0].error is None
    assert "experiment" in ask(node, request(spec), down(spec))[0].error


def test_a_hosts_files_are_its_owners_and_its_folder_is_its_own(node, monkeypatch):
    seen = []
    monkeypatch.setattr(host, "serve", lambda served: seen.append(served.folder))
    monkeypatch.setattr(host.torch, "set_num_threads", lambda number: seen.append(number))
    before = os.umask(0o022)
    try:
        host.main(node.folder)
        assert os.umask(before) == 0o077
    finally:
        os.umask(before)
    assert seen == [1, node.folder]
    assert node.state.stat().st_mode & 0o777 == 0o700
    in_use = pytest.raises(FedkinError, match="in use by another host")
    with FileLock(node.state / "host.lock"), in_use:
        host.main(node.folder)
    os.umask(before)
    assert len(seen) == 3


@pytest.mark.parametrize(
    ("train", "a_round"),
    [
        ({"train__steps": 7}, 7),
        ({"train__epochs": 2, "train__steps": None, "train__batch_size": 16}, None),
    ],
)
def test_a_host_says_how_many_steps_its_run_will_take(train, a_round, tmp_path, monkeypatch):
    """By that the runtime chooses whether compiling is worth its time."""
    spec = small("fedavg", run__clients=4, run__participation=1.0, run__rounds=9, **train)
    seen, real = [], host.Runtime
    monkeypatch.setattr(host, "Runtime", lambda *told: [seen.append(told), real(*told)][1])
    node = made(tmp_path, spec)
    reply, _ = ask(node, request(spec), down(spec))
    assert reply.steps[0].error is None
    samples = len(node._read[2].train[1])
    assert samples % 16  # the last batch is not full
    assert seen == [(spec.engine.compile, 9 * (a_round or 2 * math.ceil(samples / 16)))]
