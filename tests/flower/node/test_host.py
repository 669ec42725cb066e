"""A node alone: what it refuses, and that work is done once however often it is asked for."""

import threading

import numpy as np
import pytest

from fedkin.core.errors import FedkinError
from fedkin.engine.codec import decode, encode
from fedkin.engine.store import StoreError
from fedkin.experiment.run_facts import versions
from fedkin.flower import config
from fedkin.flower.envelope import HEADER_BYTES, Base, Place, Reply, Request, Step, sealed
from fedkin.flower.node import data, local_socket
from fedkin.flower.node.host import Node, serve
from fedkin.flower.node.store import Commit, Vault
from fedkin.setup.build import assemble
from tests.engine.small import small

RUN = "0123456789abcdef"


@pytest.fixture
def spec():
    return small("ditto", run__clients=4, run__participation=1.0, run__rounds=9)


@pytest.fixture
def node(tmp_path, spec):
    return made(tmp_path, spec)


def made(folder, spec, **settings) -> Node:
    import tomli_w

    content = spec.model_dump(mode="json", exclude_none=True)
    (folder / config.EXPERIMENT).write_text(tomli_w.dumps(content))
    found = config.NodeConfig(client="c1", superlink="127.0.0.1:9092", **settings)
    (folder / config.NODE).write_text(config.text_of(found))
    return Node(folder)


def down(spec) -> bytes:
    parts = assemble(spec)
    return encode(parts.method.broadcast(parts.method.server(parts.federation.start), 1))


def request(spec, **changes) -> Request:
    content = {
        "version": versions()["fedkin"],
        "experiment": config.fingerprint(spec),
        "run": RUN,
        "name": "c1",
        "place": Place(client=1, clients=4, classes=10, architecture="mlr"),
        "steps": (Step(op="local", round=1),),
    }
    return Request(**{**content, **changes})


def ask(node: Node, request: Request, *blobs: bytes) -> tuple[Reply, list[bytes]]:
    header, *rest = node.answer([sealed(request), *blobs])
    return Reply.model_validate_json(header), rest


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
    reply = Reply.model_validate_json(node.answer([header])[0])
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


def test_states_that_nobody_will_ask_for_are_removed(node, spec):
    base = Base()
    for number in range(1, 5):
        step = (Step(op="local", round=number),)
        reply, _ = ask(
            node, request(spec, base=base, steps=step, keep=max(0, number - 1)), down(spec)
        )
        base = reply.steps[0].own
    assert sorted(path.name for path in node.state.glob("*/*.commit")) == ["3.commit", "4.commit"]


def test_a_damaged_commit_is_said_to_be_damaged(tmp_path):
    vault = Vault(tmp_path)
    vault.put(3, Commit("key", b"state", b"message", {"weight": 2.0}))
    assert vault.find(3) == Commit("key", b"state", b"message", {"weight": 2.0})
    assert vault.find(2) is None
    path = tmp_path / "3.commit"
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(StoreError, match="damaged"):
        vault.find(3)


def test_own_files(tmp_path):
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(9, 3)).astype(np.float32), np.array([0, 1, 2] * 3)
    np.savez(tmp_path / "a.npz", x_train=x[:5], y_train=y[:5], x_test=x[5:], y_test=y[5:])
    own = data.read(tmp_path / "a.npz")
    assert [len(own.rows(part)[0]) for part in ("train", "val", "test")] == [5, 0, 4]
    lines = ["a,b,c,label,split"]
    for k, part in enumerate(["test", "train", "val"] * 3):
        lines.append(",".join([*(repr(float(v)) for v in x[k]), str(y[k] + 3), part]))
    (tmp_path / "b.csv").write_text("\n".join(lines))
    table = data.read(tmp_path / "b.csv")
    assert table.part(0, "train")[0].numpy().tolist() == x[1::3].tolist()
    assert table.classes == 6  # labels keep their numbers, whichever of them a node holds
    facts = data.facts_of(own, 0)
    assert (facts.train, facts.val, facts.test, facts.shape, facts.classes) == (5, 0, 4, (3,), 3)
    np.savez(tmp_path / "c.npz", x_test=x, y_test=y)
    with pytest.raises(FedkinError, match="lacks x_train"):
        data.read(tmp_path / "c.npz")
    (tmp_path / "d.csv").write_text("a,label,split\n1,cat,train\n2,dog,test\n")
    with pytest.raises(FedkinError, match="number the classes alike"):
        data.read(tmp_path / "d.csv")
    (tmp_path / "e.csv").write_text("a,label,split\n1,0,train\n2,1,other\n")
    with pytest.raises(FedkinError, match="train, val or test"):
        data.read(tmp_path / "e.csv")


def test_large_messages_are_not_read(tmp_path, spec):
    """A host closes the line on them, and goes on."""
    node = made(tmp_path, spec, max_bytes=1000)
    node.state.mkdir()
    threading.Thread(target=serve, args=(node,), daemon=True).start()
    socket = config.socket_of(node.folder, node.config)
    with pytest.raises(FedkinError, match="ended, or refused what came"):
        local_socket.ask(socket, [sealed(request(spec)), bytes(1000 + HEADER_BYTES)], 1 << 30)
    (header,) = local_socket.ask(socket, [sealed(request(spec, steps=(), place=None))], 1 << 30)
    assert Reply.model_validate_json(header).error is None
    assert not list(node.state.glob("*/*.commit"))
