"""The server app's entry: what it is told, and the word that it leaves."""

import json
from types import SimpleNamespace

import pytest

pytest.importorskip("flwr")

from fedkin.core.errors import FedkinError
from fedkin.experiment.training import Interrupted
from fedkin.flower import server, stopping
from fedkin.flower.backend import NODES
from fedkin.flower.config import DEPLOYMENT, Deployment, fingerprint, stop_of, text_of, waiting_of
from fedkin.flower.envelope import Facts
from tests.engine.small import small

FACTS = Facts(
    train=7, val=2, test=3, shape=(5,), dtype="float32", classes=4, task="classification",
    digest="ab" * 32,
)  # fmt: skip


def begin(folder, join="", rounds=""):
    told = {"deployment": str(folder), "out": str(folder / "out"), "join": join, "rounds": rounds}
    server.main("grid", SimpleNamespace(run_config=told, run_id=12))


@pytest.fixture
def served(monkeypatch):
    """What is served, with how many threads."""
    seen = []
    monkeypatch.setattr(server.torch, "set_num_threads", seen.append)
    monkeypatch.setattr(server, "serve", lambda *told: seen.append(("run", *told)))
    monkeypatch.setattr(server.newcomer, "serve", lambda *told: seen.append(("join", *told)))
    return seen


def test_a_run_or_a_join_is_served_and_leaves_word(served, tmp_path):
    begin(tmp_path)
    stop = stop_of(tmp_path, "12")
    waiting = waiting_of(tmp_path, "12")
    assert served == [1, ("run", "grid", tmp_path, tmp_path / "out", stop, waiting)]
    word = {"error": None, "interrupted": False}
    assert json.loads((tmp_path / "ended-12.json").read_text()) == word
    (tmp_path / "ended-12.json").unlink()
    for rounds, number in (("", None), ("0", 0), ("12", 12)):
        begin(tmp_path, "late", rounds)
        assert served[-1] == (
            *("join", "grid", tmp_path, tmp_path / "out", "late", number),
            *(waiting, stop),
        )
        assert json.loads((tmp_path / "ended-12.json").read_text()) == word
        (tmp_path / "ended-12.json").unlink()


@pytest.mark.parametrize(
    ("error", "word", "interrupted"),
    [
        (FedkinError("why"), "why", False),
        (MemoryError("why"), "MemoryError: why", False),
        (KeyboardInterrupt(), "KeyboardInterrupt: ", False),
        (Interrupted("why"), "stopped; continue with: fedkin deploy run ", True),
    ],
)
def test_the_word_says_what_went_wrong(error, word, interrupted, served, tmp_path, monkeypatch):
    def fail(*_):
        raise error

    monkeypatch.setattr(server, "serve", fail)
    monkeypatch.setattr(stopping, "has_begun", lambda _: True)
    with pytest.raises(type(error)):
        begin(tmp_path)
    left = json.loads((tmp_path / "ended-12.json").read_text())
    assert left["interrupted"] is interrupted
    assert left["error"] == (f"{word}{tmp_path} --resume" if interrupted else word)


def test_the_word_of_what_was_stopped_says_how_to_begin_it_again(served, tmp_path, monkeypatch):
    def stop(*_):
        raise stopping.StoppedByTerminal("stopped while waiting for b")

    monkeypatch.setattr(server, "serve", stop)
    monkeypatch.setattr(server.newcomer, "serve", stop)
    late = f"late has not joined; ask again: fedkin deploy join {tmp_path} late --run out"
    for name, rounds, word in (
        ("", "", f"begin again: fedkin deploy run {tmp_path}"),
        ("late", "", late),
        ("late", "3", f"{late} --rounds 3"),
    ):
        with pytest.raises(Interrupted):
            begin(tmp_path, name, rounds)
        left = json.loads((tmp_path / "ended-12.json").read_text())
        assert left == {"error": f"stopped while waiting for b; {word}", "interrupted": True}


def test_after_a_round_its_nodes_are_known_and_who_wants_to_stop_is_heard(tmp_path):
    known, facts = tmp_path / "nodes.json", {"a": FACTS, "b": None}
    stop = stop_of(tmp_path, "12")
    stop_of(tmp_path, "11").touch()  # of another run
    progress = server.progress_of(stop, known, facts)
    progress(SimpleNamespace(round=1, phase="round"))
    assert server.known_facts(known) == facts
    known.write_text("kept")
    stop.touch()
    progress(SimpleNamespace(round=3, phase="finish"))
    assert stop.exists()
    with pytest.raises(Interrupted, match=r"^stopped in round 2$"):
        progress(SimpleNamespace(round=2, phase="round"))
    assert not stop.exists()
    assert known.read_text() == "kept"


@pytest.fixture
def parts(monkeypatch, tmp_path):
    """What a run is begun with; nobody is asked, and nothing is trained."""
    seen = SimpleNamespace(begun=False, recorded=False, noted={}, hellos=[], again=[], began=[])

    def hello(dispatcher, patience, waiting, stop):
        assert waiting is None
        assert stop == tmp_path / "stop"
        seen.hellos.append((dispatcher.grid, dispatcher.about, patience))
        return {"a": FACTS}

    def backend(*told):
        seen.told = told
        return SimpleNamespace(engine=lambda: "engine")

    def begin(how):
        return lambda *told, **named: [seen.began.append((how, told, named)), tmp_path][1]

    monkeypatch.setattr(server, "has_begun", lambda _: seen.begun)
    monkeypatch.setattr(server, "recorded", lambda _: seen.recorded)
    monkeypatch.setattr(server, "facts_at", lambda _: seen.noted)
    monkeypatch.setattr(server, "hello", hello)
    monkeypatch.setattr(server, "hello_again", lambda _, *told: seen.again.append(told))
    monkeypatch.setattr(server, "FlowerBackend", backend)
    monkeypatch.setattr(server, "verifier", lambda *told: told)
    monkeypatch.setattr(server, "masked", lambda spec, insecure: not insecure)
    monkeypatch.setattr(server, "run", begin("run"))
    monkeypatch.setattr(server, "resume", begin("resume"))
    monkeypatch.setattr(server.config, "spec_of", lambda _: SPEC)
    return seen


SPEC = small("fedavg", run__clients=2)


def deploy(folder, **settings):
    whole = {"address": "127.0.0.1:9", "clients": ("a", "b"), "wait": 7.0, **settings}
    (folder / DEPLOYMENT).write_text(text_of(Deployment(**whole)))


def test_a_run_is_begun_by_a_name_of_its_own_once_its_nodes_are_there(parts, tmp_path):
    deploy(tmp_path)
    names = set()
    for _ in range(2):
        assert server.serve("grid", tmp_path, tmp_path / "out", tmp_path / "stop") == tmp_path
        grid, about, patience = parts.hellos[-1]
        assert (grid, patience, about.experiment) == ("grid", 7.0, fingerprint(SPEC))
        names.add(about.run)
    assert len(names) == 2
    assert {len(bytes.fromhex(name)) for name in names} == {8}
    assert parts.told[2:] == ({"a": FACTS}, (tmp_path, fingerprint(SPEC), about.run))
    how, told, named = parts.began[-1]
    assert (how, told, named["engine"]) == ("run", (SPEC, tmp_path / "out"), "engine")
    (tmp_path / "out").mkdir()
    named["progress"](SimpleNamespace(round=1, phase="round"))
    assert server.known_facts(tmp_path / "out" / NODES) == {"a": FACTS}
    deploy(tmp_path, insecure=True)
    server.serve("grid", tmp_path, tmp_path / "out", tmp_path / "stop")
    assert parts.told[3] is None


def test_a_run_is_gone_on_with_under_its_name_and_with_the_nodes_it_knows(parts, tmp_path):
    deploy(tmp_path)
    out = tmp_path / "out"
    out.mkdir()
    known = {"a": None, "b": FACTS.model_dump(mode="json")}
    (out / NODES).write_text(json.dumps(known))
    parts.noted = {"deployment": "fedcba9876543210", "experiment": fingerprint(SPEC)}
    server.serve("grid", tmp_path, out, tmp_path / "stop")
    assert len(parts.hellos) == 1  # of another run: nobody had begun this one
    parts.begun = True
    server.serve("grid", tmp_path, out, tmp_path / "stop")
    assert parts.told[1].about.run != "fedcba9876543210"  # it was killed before it asked anybody
    parts.recorded = True
    server.serve("grid", tmp_path, out, tmp_path / "stop")
    assert len(parts.hellos) == 1
    assert parts.told[1].about.run == "fedcba9876543210"
    assert parts.told[2] == {"a": None, "b": FACTS}
    assert parts.again == [(7.0, None, tmp_path / "stop")] * 2
    how, told, named = parts.began[-1]
    assert (how, told, named["trust_code"], named["engine"]) == ("resume", (out,), True, "engine")
    (out / NODES).unlink()
    server.serve("grid", tmp_path, out, tmp_path / "stop")
    assert len(parts.hellos) == 2


def test_a_run_is_not_gone_on_with_by_another_experiment_or_other_clients(parts, tmp_path):
    deploy(tmp_path)
    out = tmp_path / "7"
    out.mkdir()
    parts.begun, parts.noted = True, {"experiment": "ab" * 32}
    with pytest.raises(FedkinError) as error:
        server.serve("grid", tmp_path, out, tmp_path / "stop")
    assert str(error.value) == (
        "experiment.toml is not what run 7 began with: put it back, or begin another run"
    )
    parts.noted = {"experiment": fingerprint(SPEC)}
    for known, what in (("ac", "b was not in run 7"), ("ba", "clients changed")):
        (out / NODES).write_text(json.dumps(dict.fromkeys(known)))
        with pytest.raises(FedkinError, match=rf"^deployment.toml: {what}: put clients back \("):
            server.serve("grid", tmp_path, out, tmp_path / "stop")
    assert (parts.hellos, parts.began) == ([], [])
