"""A node alone: what it refuses, and that work is done once however often it is asked for."""

import json
import math
import multiprocessing.connection
import os
import runpy
import signal
import sys
import time

import pytest
from filelock import FileLock, Timeout

from fedkin.core.errors import FedkinError
from fedkin.engine.codec import decode, encode
from fedkin.engine.model_sources import ModelSources
from fedkin.flower.config import NODE, fingerprint, socket_of
from fedkin.flower.envelope import PROTOCOL, Base, NodeReply, Place, RemoteStep, sealed
from fedkin.flower.node import held_data, host
from fedkin.runs.spec import parse
from tests.engine.small import content, small
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
            {"base": Base(round=7), "steps": (RemoteStep(op="local", round=8),)},
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
    reply, _ = ask(
        node, request(spec, base=wrong, steps=(RemoteStep(op="local", round=2),)), down(spec)
    )
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
    ("train", "epochs"),
    [
        ({"train__steps": 7}, None),
        ({"train__epochs": 2, "train__steps": None, "train__batch_size": 16}, 2),
        ({"train__steps": None, "train__batch_size": 16}, 1),
    ],
)
def test_a_host_says_how_many_steps_its_run_will_take(train, epochs, tmp_path, monkeypatch):
    """By that the runtime chooses whether compiling is worth its time."""
    spec = small("fedavg", run__clients=4, run__participation=1.0, run__rounds=9, **train)
    seen, real = [], host.Runtime
    monkeypatch.setattr(host, "Runtime", lambda *told: [seen.append(told), real(*told)][1])
    node = made(tmp_path, spec)
    reply, _ = ask(node, request(spec), down(spec))
    assert reply.steps[0].error is None
    samples = len(node._data._known.population.train[1])
    assert samples % 16  # the last batch is not full
    a_round = 7 if epochs is None else epochs * math.ceil(samples / 16)
    assert seen == [(spec.engine.compile, 9 * a_round)]


def test_what_is_not_for_this_node_is_told_by_its_beginning(node, spec):
    ours = fingerprint(spec)
    reply, _ = ask(node, request(spec, experiment="0123456789abcdef" * 4))
    assert reply.error == f"this node's experiment is {ours[:20]}, not 0123456789abcdef0123"
    assert (reply.run, reply.experiment) == (request(spec).run, "0123456789abcdef" * 4)
    assert (reply.name, reply.facts, reply.clock) == ("c1", None, None)
    for parts in ([], [b"{"]):
        reply = NodeReply.model_validate_json(node.answer(parts)[0])
        assert reply.error.startswith("request is malformed")
        assert (reply.run, reply.experiment) == ("", "")


@pytest.mark.parametrize(
    ("changes", "theirs"),
    [
        ({"version": "9.0"}, f"9.0 (protocol {PROTOCOL})"),
        ({"protocol": PROTOCOL + 1}, f"{{ours}} (protocol {PROTOCOL + 1})"),
        (
            {"version": "9.0", "protocol": PROTOCOL + 1, "new_field": 1, "steps": "?"},
            f"9.0 (protocol {PROTOCOL + 1})",
        ),
    ],
)
def test_another_version_is_named_before_its_header_is_read(changes, theirs, node, spec):
    header = json.loads(sealed(request(spec))) | changes
    reply = NodeReply.model_validate_json(node.answer([json.dumps(header).encode()])[0])
    ours = node.version
    assert reply.error == (
        f"this node's fedkin is {ours} (protocol {PROTOCOL}), not {theirs.format(ours=ours)}: "
        "install the same on all machines"
    )
    assert not node.state.exists()


def test_a_reason_names_no_folder_of_the_machine(tmp_path):
    spec = small("fedavg", run__clients=4)
    (tmp_path / "node").mkdir()
    for data in ("d.csv", str(tmp_path / "elsewhere" / "d.csv")):
        node = made(tmp_path / "node", spec, data=data)
        reply, _ = ask(node, request(spec, steps=()))
        assert "d.csv" in reply.error
        assert str(tmp_path) not in reply.error
    node = made(tmp_path / "node", small("fedavg", run__clients=4))
    node.state.write_text("no folder")
    reply, _ = ask(node, request(spec), down(spec))
    assert "state" in reply.error
    assert str(tmp_path) not in reply.error


@pytest.mark.parametrize(
    ("table", "where"),
    [
        ("age,sick,sort,split\n71,HIV,1,train\n43,,0,train\n", "d.csv, line 2, column 'sick'"),
        (
            "age,sort,split\n71,HIV,train\n43,well,train\n",
            "d.csv, line 2, column 'sort'",
        ),
        ("age,sort,split\n71,1,HIV\n43,0,train\n", "d.csv, column 'split'"),
        ("age,sick,sort,split\n71,,1,train\n4,3,0,train\n", "d.csv, line 2, column 'sick'"),
        ("age,sort,split\n71,1,train,HIV\n43,0,train\n", "d.csv, line 2"),
        ("age,sort,split\n71,71717171,train\n43,0,train\n", "d.csv"),
        ("HIV,HIV,71\nHIV,HIV,1\n", "d.csv"),
        ("HIV,71\nHIV,1\n", "d.csv"),
    ],
)
def test_a_reason_quotes_nothing_of_a_table(tmp_path, capfd, table, where):
    spec = small("fedavg", run__clients=4, data__label="sort")
    (tmp_path / "d.csv").write_text(table)
    reply, _ = ask(made(tmp_path, spec, data="d.csv"), request(spec, steps=()))
    assert reply.error == f"its data cannot be read: {where}: its log says what is wrong"
    assert str(tmp_path / "d.csv") in capfd.readouterr().err  # all of it, on the node


def test_labels_that_do_not_fit_the_model_are_not_quoted(tmp_path):
    given = content("fedavg", run__clients=4, run__measure="deviance")
    spec = parse({**given, "model": {**given["model"], "family": "poisson"}})[0]
    rows = ["31,1.25,train", "43,-71.3125,train", "56,3.5,train", "29,2.5,val", "63,1.5,test"]
    (tmp_path / "d.csv").write_text("\n".join(["age,label,split", *rows]))
    node = made(tmp_path, spec, data="d.csv", insecure=True)
    reply, _ = ask(node, request(spec, steps=()))
    place = Place(client=1, clients=4, classes=0, architecture="mlr", data=reply.facts.digest)
    reply, _ = ask(node, request(spec, place=place), encode({}))
    assert reply.error.startswith("family poisson is for counts, but there are labels below 0")
    assert "71" not in reply.error


def test_an_exception_of_a_clients_work_quotes_nothing(node, spec, monkeypatch, capfd):
    def fails(*_):
        raise IndexError("target 71 is out of bounds")

    monkeypatch.setattr("fedkin.engine.host.Host.receive", fails)
    reply, _ = ask(node, request(spec), down(spec))
    assert reply.steps[0].error == "IndexError, of which its log says more"
    assert "target 71" in capfd.readouterr().err


def test_a_node_computes_on_its_cpu(tmp_path):
    spec = small("fedavg", run__clients=4)
    node = made(tmp_path, spec.model_copy(update={"engine": spec.engine.model_copy(
        update={"device": "cuda"})}))  # fmt: skip
    reply, _ = ask(node, request(spec, steps=()))
    assert reply.error == (
        "engine.device is for simulations, nodes compute on their CPU: leave it out"
    )


def test_without_steps_or_a_place_a_node_says_who_it_is(node, spec):
    before = time.time()
    for changes in ({"steps": ()}, {"place": None}, {"steps": (), "place": None}):
        reply, sent = ask(node, request(spec, **changes))
        assert (reply.error, reply.steps, sent) == (None, (), [])
        assert before <= reply.clock <= time.time()
        assert reply.facts is None  # it has its part of the experiment's data
    assert not node.state.exists()


def own(folder, spec, **settings):
    """A node with a table of its own, whose labels are in a column of another name."""
    rows = [f"{k}.5,{k % 3},{part}" for k, part in enumerate(["train"] * 5 + ["val", "test"] * 2)]
    (folder / "d.csv").write_text("\n".join(["age,sort,split", *rows]))
    return made(folder, spec, data="d.csv", **settings)


def test_a_node_tells_sizes_of_its_own_file_and_the_model_of_its_choice(tmp_path):
    spec = small("fedavg", run__clients=4, data__label="sort")
    for model, told in ((None, ""), ("mine:Net", "mine:Net")):
        reply, _ = ask(own(tmp_path, spec, model=model), request(spec, steps=()))
        facts = reply.facts
        assert (facts.train, facts.val, facts.test, facts.classes) == (5, 2, 2, 3)
        assert (facts.columns, facts.architecture) == (("age",), told)
    (tmp_path / "d.csv").write_text("age,label,split\n1,0,train\n2,1,train\n")
    plain = small("fedavg", run__clients=4)
    reply, _ = ask(made(tmp_path, plain, data="d.csv"), request(plain, steps=()))
    assert reply.facts.columns == ("age",)


def test_data_are_read_once_an_experiment_and_steps_are_traced_once_a_place(
    node, spec, tmp_path, monkeypatch
):
    read, real = [], held_data.population_of
    monkeypatch.setattr(held_data, "population_of", lambda *told: [read.append(1), real(*told)][1])
    assert ask(node, request(spec), down(spec))[0].error is None
    first = node._host[2]
    assert ask(node, request(spec, steps=(RemoteStep(op="evaluate", round=1),)), down(spec))[
        0
    ].steps
    assert node._host[2] is first
    other = Place(client=2, clients=4, classes=10, architecture="mlr")
    assert ask(node, request(spec, place=other, steps=()), down(spec))[0].error is None
    assert node._host[2] is first
    assert ask(node, request(spec, place=other), down(spec))[0].error is None
    assert node._host[2] is not first
    assert set(node._host[2].infos) == {2}
    assert len(read) == 1
    changed = small("fedavg", run__clients=4, run__participation=1.0)
    (tmp_path / "experiment.toml").unlink()
    made(tmp_path, changed)
    assert ask(node, request(changed, place=other), down(changed))[0].error is None
    assert len(read) == 2


@pytest.mark.parametrize("settings", [{}, {"data": "d.csv"}])
def test_a_node_with_a_file_of_its_own_measures_by_no_counts(settings, tmp_path, monkeypatch):
    """It alone would choose another measure than the others by the classes that it holds."""
    spec = small("fedavg", run__clients=4)
    own(tmp_path, spec)
    table = tmp_path / "d.csv"
    table.write_text(table.read_text().replace("sort", "label"))
    node = made(tmp_path, spec, **settings)
    seen, real = [], host.with_measure
    monkeypatch.setattr(host, "with_measure", lambda *told: [seen.append(told[2]), real(*told)][1])
    (reply, _) = ask(node, request(spec, steps=()))
    told = {} if reply.facts is None else {"data": reply.facts.digest, "classes": 3}
    place = Place(**{"client": 1, "clients": 4, "classes": 10, "architecture": "mlr", **told})
    ask(node, request(spec, place=place), down(spec))
    assert seen == [not settings]
    other = place.model_copy(update={"data": "ab" * 32})
    found = ask(node, request(spec, place=other), down(spec))[0].error
    assert str(found).startswith("its data are not those that it joined") is bool(settings)


def test_a_node_in_use_says_so_at_once(node, monkeypatch):
    seen = []

    class Lock:
        def __init__(self, path, timeout):
            seen.append((path, timeout))

        def __enter__(self):
            raise Timeout("held")

        def __exit__(self, *_):
            pass

    monkeypatch.setattr(host, "FileLock", Lock)
    before = os.umask(0o022)
    try:
        with pytest.raises(FedkinError, match="in use by another host"):
            host.main(node.folder)
    finally:
        os.umask(before)
    assert seen == [(node.state / "host.lock", 0)]


class Heard:
    """A listener whose callers come one after the other; an error is one who went away."""

    def __init__(self, callers) -> None:
        self.callers, self.told = list(callers), []

    def __call__(self, *told, **named):
        self.told.append((told, named))
        return self

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def accept(self):
        caller = self.callers.pop(0)
        if isinstance(caller, BaseException):
            raise caller
        return caller


def test_a_caller_that_goes_away_ends_no_host(node, short_path, monkeypatch, capsys):
    """Whoever comes while it works waits in line: sixteen may."""

    class Caller:
        def __enter__(self):
            return self

        def __exit__(self, *_):
            pass

    last = Caller()
    heard = Heard([EOFError("one"), last, ConnectionResetError("two"), KeyboardInterrupt()])
    served = []
    monkeypatch.setattr(host, "Listener", heard)
    monkeypatch.setattr(host, "_one", lambda *told: served.append(told))
    monkeypatch.setattr(node, "look", lambda: "its data: …")
    node.folder = short_path
    socket = socket_of(node.folder, node.config)
    socket.parent.mkdir()
    socket.write_text("of a host that was killed")
    for _ in range(2):
        heard.callers = heard.callers or [KeyboardInterrupt()]
        with pytest.raises(KeyboardInterrupt):
            host.serve(node)
        assert not socket.exists()
    assert heard.told == [((str(socket),), {"family": "AF_UNIX", "backlog": 16})] * 2
    assert served == [(node, last)]
    said = capsys.readouterr()
    assert said.err == "a caller left: one\na caller left: two\n"
    assert said.out == "host of c1 is ready\nits data: …\n" * 2


def test_how_a_host_ends(node, monkeypatch, short_path):
    """By its supervisor's signal in peace; by Ctrl-C, and by what it cannot do, with its code."""
    handlers, before = {}, os.umask(0o022)
    (short_path / NODE).write_text((node.folder / NODE).read_text())
    monkeypatch.setattr(signal, "signal", handlers.__setitem__)
    monkeypatch.setattr(host.torch, "set_num_threads", lambda _: None)
    monkeypatch.setattr(multiprocessing.connection, "Listener", Heard([KeyboardInterrupt()]))
    try:
        for folder, code in ((short_path, 130), (short_path / "none", "error: .*node.toml cannot")):
            monkeypatch.setattr(sys, "argv", ["host", str(folder), "other"])
            with pytest.raises(SystemExit, match=f"^{code}") as ended:
                runpy.run_path(host.__file__, run_name="__main__")
            assert ended.value.code == code or code != 130
    finally:
        os.umask(before)
    with pytest.raises(SystemExit) as ended:
        handlers[signal.SIGTERM](signal.SIGTERM, None)
    assert ended.value.code == 0


def test_a_model_is_kept_with_what_its_nodes_own_data_were(tmp_path, monkeypatch):
    """Of the experiment's own data nothing need be kept: the experiment names them."""
    spec = small("fedavg", run__clients=4)
    own(tmp_path, spec)
    table = tmp_path / "d.csv"
    table.write_text(table.read_text().replace("sort", "label"))
    node = made(tmp_path, spec, data="d.csv")
    known = node._data.look(spec, fingerprint(spec))
    about = node._about(spec, known, lambda: ModelSources(own=True, samples=False))
    assert about["model_sources"] == {"own": True, "samples": False}
    assert about["spec"] == spec.model_dump(mode="json")
    assert (about["facts"]["train"], about["facts"]["columns"]) == (5, ["age"])
    assert [one["name"] for one in about["encoding"]] == ["age"]
    rehearsal = made(tmp_path, spec)
    about = rehearsal._about(
        spec, known._replace(facts=None), lambda: ModelSources(own=True, samples=False)
    )
    assert (about["facts"], about["encoding"]) == (None, None)
