"""``fedkin join``: whose model it is, and whose place it may take."""

import hashlib
import json
import os
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from fedkin import Result
from fedkin.core.errors import FedkinError
from fedkin.data.source import Source
from fedkin.experiment.run import run
from fedkin.newcomers.join import (
    FOUND,
    LARGEST,
    _digest,
    _folder_of,
    _from_file,
    _held_out,
    _not_anothers,
    join,
)
from fedkin.newcomers.local import joined
from fedkin.runs.spec import parse
from fedkin.setup.population import population_of
from tests.awkward import population
from tests.engine.small import small

PEOPLE = population()
HAR = Source(
    "har",
    np.arange(160, dtype=np.float32).reshape(80, 2),
    np.arange(80) % 2,
    2,
    client=np.arange(80) // 40,
    truth={"bout": np.arange(80) // 4},
    group="bout",
)


def test_one_of_a_file_and_a_held_out_client(tmp_path) -> None:
    for given in ({}, {"data": tmp_path / "a.csv", "client": "s1"}):
        with pytest.raises(FedkinError, match=r"name either a file of the newcomer's own"):
            join(tmp_path, **given)


@pytest.mark.parametrize("out", ["run/checkpoint", "run/checkpoint/new"])
def test_a_model_among_the_states_of_a_run_would_be_removed(out: str, tmp_path: Path) -> None:
    (tmp_path / "run" / "checkpoint").mkdir(parents=True)
    (tmp_path / "run" / "run.db").touch()
    with pytest.raises(FedkinError, match=r"among the states of .*run, where a resumed run remov"):
        _folder_of(tmp_path / "run", tmp_path / out, "new")


def test_a_held_out_client_is_one_of_them() -> None:
    parts = SimpleNamespace(held_out=PEOPLE)
    alone = _held_out(parts, "s2")
    assert alone.names == ("s2",)
    assert alone.clients == 1
    place = PEOPLE.names.index("s2")
    assert alone.sizes("train").tolist() == [len(PEOPLE.train[place])]
    with pytest.raises(FedkinError, match="unknown held-out client 's22': did you mean 's2'"):
        _held_out(parts, "s22")
    with pytest.raises(FedkinError, match="no client was held out of this run: name a file with"):
        _held_out(SimpleNamespace(held_out=None), "s2")


def test_a_file_is_known_again_and_where_it_lies_is_nobodys_business(tmp_path, monkeypatch) -> None:
    path = tmp_path / "data.csv"
    path.write_text("a\n1\n")
    found = _digest(path)
    assert found == hashlib.sha256(os.fsencode(path)).hexdigest()
    path.write_text("a\n1\n2\n")  # more rows
    monkeypatch.chdir(tmp_path)
    assert _digest(Path("data.csv")) == found
    assert _digest(tmp_path / "other.csv") != found


@pytest.mark.parametrize(
    ("there", "mine", "same"),
    [
        ({"file": "f1"}, "f1", True),
        ({"file": "f1"}, "f2", False),
        ({"file": None}, None, True),  # a held-out client again
        ({"file": None}, "f1", False),
        ({"client": "data"}, None, False),  # of before files were told
        ([1], "f1", False),
    ],
)
def test_only_the_same_newcomer_is_replaced(there, mine, same, tmp_path) -> None:
    (tmp_path / FOUND).write_text(json.dumps(there))
    if same:
        assert _not_anothers(tmp_path, "data", mine) is None
        return
    with pytest.raises(FedkinError, match="holds the model of another newcomer called 'data': giv"):
        _not_anothers(tmp_path, "data", mine)


def test_who_came_while_another_of_the_name_worked_is_not_replaced(tmp_path, monkeypatch) -> None:
    folder, own = run(small("local", run__rounds=1), tmp_path / "run"), Result(tmp_path / "run")
    for client, there in enumerate(("a", "b")):
        (tmp_path / there).mkdir()
        x, y = own.data(client, "train")
        np.savez(tmp_path / there / "data.npz", x=x.numpy(), y=y.numpy())

    def late(*given):
        monkeypatch.setattr(f"{join.__module__}.joined", joined)
        join(folder, tmp_path / "b" / "data.npz", rounds=1)  # another process's
        return joined(*given)

    monkeypatch.setattr(f"{join.__module__}.joined", late)
    with pytest.raises(FedkinError, match="the model of another newcomer called 'data': give this"):
        join(folder, tmp_path / "a" / "data.npz", rounds=1)
    told = json.loads((folder / "joined" / "data" / FOUND).read_text())
    assert told["file"] == _digest(tmp_path / "b" / "data.npz")


def test_a_folder_that_takes_no_file_is_told_before_the_work(tmp_path, monkeypatch) -> None:
    folder, own = run(small("local", run__rounds=1), tmp_path / "run"), Result(tmp_path / "run")
    x, y = own.data(0, "train")
    np.savez(tmp_path / "data.npz", x=x.numpy(), y=y.numpy())
    (tmp_path / "file").touch()
    monkeypatch.setattr(f"{join.__module__}.joined", lambda *given: pytest.fail("it worked"))
    with pytest.raises(FedkinError, match="file is a file: choose another folder"):
        join(folder, tmp_path / "data.npz", out=tmp_path / "file" / "x", rounds=1)
    with monkeypatch.context() as closed:
        closed.setattr("os.access", lambda *given: False)
        with pytest.raises(FedkinError, match="takes no file"):
            join(folder, tmp_path / "data.npz", out=tmp_path / "there", rounds=1)
    assert not (tmp_path / "there").exists()


def test_a_join_that_fails_leaves_nothing(tmp_path, monkeypatch) -> None:
    folder, own = run(small("local", run__rounds=1), tmp_path / "run"), Result(tmp_path / "run")
    x, y = own.data(0, "train")
    np.savez(tmp_path / "data.npz", x=x.numpy(), y=y.numpy())
    before = sorted(path.name for path in folder.rglob("*"))

    def fails(*_):
        raise FedkinError("it diverged")

    monkeypatch.setattr(f"{join.__module__}.joined", fails)
    with pytest.raises(FedkinError, match="it diverged"):
        join(folder, tmp_path / "data.npz", rounds=1)
    assert sorted(path.name for path in folder.rglob("*")) == before


def test_another_held_out_client_is_not_replaced(tmp_path) -> None:
    (tmp_path / FOUND).write_text(json.dumps({"file": None, "client": "s2"}))
    with pytest.raises(FedkinError, match="another newcomer called 's2'"):
        _not_anothers(tmp_path, "s1", None)


def test_what_is_damaged_is_anothers_and_an_empty_folder_nobodys(tmp_path) -> None:
    assert _not_anothers(tmp_path, "data", None) is None
    for content in (b"{", b"[" * 100_000, b" " * (LARGEST + 1)):
        (tmp_path / FOUND).write_bytes(content)
        with pytest.raises(FedkinError, match="give this one a folder, --out DIR"):
            _not_anothers(tmp_path, "data", None)


@pytest.mark.parametrize(("split", "kept"), [({}, True), ({"group": "none"}, False)])
def test_a_file_keeps_together_what_the_run_did(split, kept, tmp_path, monkeypatch) -> None:
    """HAR's own group, which no key of the specification names."""
    monkeypatch.setattr("fedkin.setup.population.load", lambda *_, **__: HAR)
    spec = parse({"data": {"name": "har"}, "split": {"name": "natural", **split}})[0]
    people = population_of(spec, wanted=False)
    bout = np.arange(40) // 4
    np.savez(tmp_path / "mine.npz", x=HAR.x[:40], y=HAR.y[:40], bout=bout)
    own = _from_file(SimpleNamespace(spec=spec, population=people), tmp_path / "mine.npz")
    parts = [set(bout[rows[0]].tolist()) for rows in (own.train, own.val, own.test)]
    assert (sum(map(len, parts)) == 10) is kept
    assert own.said == ()
