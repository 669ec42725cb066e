"""A run at one commit, though it may go on."""

import pytest
import torch

from fedkin.core.files import write_file
from fedkin.engine.codec import encode
from fedkin.engine.store import StoreError
from fedkin.runs import checkpoint
from fedkin.runs.database import create, open_run
from fedkin.runs.directory import RECORD, states_of
from fedkin.setup import snapshot as module
from fedkin.setup.snapshot import TRIES, snapshot
from tests.awkward import record

SERVER = checkpoint.SERVER


def commit(folder, round, states):
    """States of a round on disk and in the record; those before it are removed."""
    states_of(folder).mkdir(exist_ok=True)
    for client, value in states.items():
        tree = {"w": torch.tensor([value])}
        write_file(states_of(folder) / checkpoint.name(client, round), encode(tree))
    database = open_run(folder, write=True)
    with database.commit() as into:
        into.execute("DELETE FROM states")
        into.executemany("INSERT INTO states VALUES (?, ?)", [(c, round) for c in states])
    database.close()


@pytest.fixture
def run(tmp_path):
    folder = record(tmp_path / "run", clients=6)
    commit(folder, 3, {SERVER: 0.5, 4: 4.5})
    return folder


def test_round_facts_and_states_are_of_one_commit(run, tmp_path) -> None:
    found = snapshot(run, tmp_path / "aside")
    assert (found.round, found.trained) == (4, 3)
    assert found.server["w"].tolist() == [0.5]
    assert found.states.get(4)["w"].tolist() == [4.5]
    assert found.states.get(2) is None
    assert found.facts["clients"] == 6
    assert found.finished


def finished(folder, is_it):
    database = open_run(folder, write=True)
    with database.commit() as into:
        into.execute("UPDATE facts SET value = ? WHERE name = 'finished'", [str(is_it).lower()])
    database.close()


def test_of_a_finished_run_nothing_is_copied(run, tmp_path) -> None:
    """Its files stay: who looks at one client of many waits for no other one."""
    found = snapshot(run, tmp_path / "aside")
    assert found.finished
    assert list((tmp_path / "aside").iterdir()) == []
    assert found.states.get(4)["w"].tolist() == [4.5]
    found.states.put(4, {"w": torch.tensor([7.5])})
    assert found.states.get(4)["w"].tolist() == [7.5]
    assert snapshot(run, tmp_path / "aside2").states.get(4)["w"].tolist() == [4.5]


def test_of_a_run_that_goes_on_those_are_copied_who_are_looked_at(run, tmp_path) -> None:
    finished(run, False)
    for at, (copied, names) in enumerate(
        [(None, ["-1.safetensors", "4.safetensors"]), ([SERVER], ["-1.safetensors"]), ([], [])]
    ):
        aside = tmp_path / str(at)
        found = snapshot(run, aside, copied)
        assert not found.finished
        assert sorted(path.name for path in aside.iterdir()) == names
        # whoever is asked for all the same is never said to have no state
        assert found.states.get(4)["w"].tolist() == [4.5]
    (states_of(run) / checkpoint.name(4, 3)).unlink()
    with pytest.raises(StoreError, match=r"4\.3\.safetensors is gone"):
        found.states.get(4)


def test_copies_stay_when_the_run_goes_on(run, tmp_path) -> None:
    finished(run, False)
    found = snapshot(run, tmp_path / "aside")
    commit(run, 4, {SERVER: 9.0})
    for path in states_of(run).glob("*.3.safetensors"):
        path.unlink()
    assert found.server["w"].tolist() == [0.5]


def test_a_file_that_is_gone_for_good_is_told_when_it_is_asked_for(run, tmp_path) -> None:
    (states_of(run) / checkpoint.name(4, 3)).unlink()
    found = snapshot(run, tmp_path / "aside")
    assert found.server["w"].tolist() == [0.5]
    with pytest.raises(
        StoreError, match=r"4\.3\.safetensors is gone, and a model with it: put it back"
    ):
        found.states.get(4)


def test_a_commit_while_states_are_copied_is_followed(run, tmp_path, monkeypatch) -> None:
    tried = []
    real = module.Copies
    finished(run, False)

    def copies(folder, states, copied):
        tried.append(len(tried))
        if len(tried) == 1:  # the run commits a round, and removes the files of the one before
            with_round(run, 5)
            commit(run, 5, {SERVER: 1.5})
            for path in states_of(run).glob("*.3.safetensors"):
                path.unlink()
        return real(folder, states, copied)

    monkeypatch.setattr(module, "Copies", copies)
    found = snapshot(run, tmp_path / "aside")
    assert found.round == 5
    assert found.server["w"].tolist() == [1.5]
    assert len(tried) == 2 <= TRIES


def with_round(folder, number):
    database = open_run(folder, write=True)
    (columns,) = [[row[1] for row in database.rows("PRAGMA table_info(rounds)")]]
    (last,) = database.rows("SELECT * FROM rounds ORDER BY round DESC LIMIT 1")
    row = dict(zip(columns, last)) | {"round": number}
    with database.commit() as into:
        marks = ", ".join("?" for _ in columns)
        into.execute(f"INSERT INTO rounds VALUES ({marks})", list(row.values()))
    database.close()


def test_before_the_first_commit_there_is_no_server(tmp_path) -> None:
    (tmp_path / "new").mkdir()
    create(tmp_path / "new" / RECORD, {"finished": False}).close()
    found = snapshot(tmp_path / "new", tmp_path / "aside")
    assert (found.round, found.server, found.finished) == (-1, None, False)
