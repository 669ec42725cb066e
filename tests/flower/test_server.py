"""The server app's entry: what it is told, and the word that it leaves."""

import json
from types import SimpleNamespace

import pytest

pytest.importorskip("flwr")

from fedkin.core.errors import FedkinError
from fedkin.experiment.training import Interrupted
from fedkin.flower import server
from fedkin.flower.config import STOP
from fedkin.flower.envelope import Facts

FACTS = Facts(
    train=7, val=2, test=3, shape=(5,), dtype="float32", classes=4, task="classification",
    digest="ab" * 32,
)  # fmt: skip


def begin(folder, join="", rounds=""):
    told = {"deployment": str(folder), "out": str(folder / "out"), "join": join, "rounds": rounds}
    server.main("grid", SimpleNamespace(run_config=told))


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
    assert served == [1, ("run", "grid", tmp_path, tmp_path / "out")]
    word = {"error": None, "interrupted": False}
    assert json.loads((tmp_path / "ended.json").read_text()) == word
    (tmp_path / "ended.json").unlink()
    for rounds, number in (("", None), ("0", 0), ("12", 12)):
        begin(tmp_path, "late", rounds)
        assert served[-1] == ("join", "grid", tmp_path, tmp_path / "out", "late", number)
        assert json.loads((tmp_path / "ended-late.json").read_text()) == word
    assert not (tmp_path / "ended.json").exists()


@pytest.mark.parametrize(
    ("error", "word", "interrupted"),
    [
        (FedkinError("why"), "why", False),
        (MemoryError("why"), "MemoryError: why", False),
        (KeyboardInterrupt(), "KeyboardInterrupt: ", False),
        (Interrupted("why"), "stopped after a round; continue with: fedkin deploy run ", True),
    ],
)
def test_the_word_says_what_went_wrong(error, word, interrupted, served, tmp_path, monkeypatch):
    def fail(*_):
        raise error

    monkeypatch.setattr(server, "serve", fail)
    with pytest.raises(type(error)):
        begin(tmp_path)
    left = json.loads((tmp_path / "ended.json").read_text())
    assert left["interrupted"] is interrupted
    assert left["error"] == (f"{word}{tmp_path} --resume" if interrupted else word)


def test_after_a_round_its_nodes_are_known_and_who_wants_to_stop_is_heard(tmp_path):
    known, facts = tmp_path / "nodes.json", {"a": FACTS, "b": None}
    progress = server.progress_of(tmp_path, known, facts)
    progress(SimpleNamespace(round=1, phase="round"))
    assert server.known_facts(known) == facts
    known.write_text("kept")
    (tmp_path / STOP).touch()
    progress(SimpleNamespace(round=3, phase="finish"))
    assert (tmp_path / STOP).exists()
    with pytest.raises(Interrupted, match=r"^stopped in round 2; continue with: .* --resume$"):
        progress(SimpleNamespace(round=2, phase="round"))
    assert not (tmp_path / STOP).exists()
    assert known.read_text() == "kept"
