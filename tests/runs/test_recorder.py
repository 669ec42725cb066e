"""Rounds and their commits."""

from pathlib import Path

import pytest

from fedkin.core.errors import FedkinError, Halted
from fedkin.core.kinds import KINDS
from fedkin.runs import checkpoint
from fedkin.runs.database import create, read_only
from fedkin.runs.recorder import Recorder
from tests.runs.database_examples import record, recorder


@pytest.fixture
def database(tmp_path):
    made = create(tmp_path / "run.db", {"seed": 3}, [(0, "zero", "mlr", 1, 2, 3, "[1]")])
    yield made
    made.close()


def test_rows_of_a_round(tmp_path, database):
    kept = recorder(tmp_path, database)
    kept.add(record(0, "setup"))
    kept.add(record(1, missing={1: "BadMessage: NaN"}))
    with read_only(tmp_path) as reader:  # while the writer has it open
        assert reader.last_round() == 1
        assert reader.rows("SELECT phase, participants FROM rounds") == [
            ("setup", "[0, 1]"),
            ("round", "[0, 1]"),
        ]
        metrics = reader.rows(
            "SELECT split, loss, accuracy FROM metrics WHERE round = 1 ORDER BY split"
        )
        assert metrics == [("test", None, None), ("val", 0.5, 0.75)]  # nan is NULL
        notes = reader.rows(
            "SELECT client, name, value FROM notes WHERE round = 1 ORDER BY client, name"
        )
        assert notes == [(-1, "cluster", "0.5"), (0, "cluster", "2"), (0, "teacher", "[1, 2]")]
        assert reader.rows("SELECT * FROM events") == [(1, 1, "missing", "BadMessage: NaN")]
        messages = reader.rows(
            f"SELECT phase, client, copy, bytes, {KINDS[0]} FROM messages WHERE round = 1"
        )
        assert messages == [("round", 0, 0, 10, 1), ("round", 1, 1, 10, 1)]
        paths = checkpoint.committed(tmp_path, reader)
    assert {path.name for path in paths.values()} == {"server.1.safetensors", "0.1.safetensors"}
    assert set((tmp_path / "checkpoint").iterdir()) == set(
        paths.values()
    )  # superseded files are gone


def test_rounds_wait_for_their_commit(tmp_path, database):
    kept = recorder(tmp_path, database, every=1e9)
    for number in range(3):
        kept.add(record(number))
    assert database.last_round() == -1
    assert not list((tmp_path / "checkpoint").iterdir())
    kept.commit(finished=True)
    assert database.last_round() == 2
    assert database.facts()["finished"] is True
    assert {path.name for path in (tmp_path / "checkpoint").iterdir()} == {
        "server.2.safetensors",
        "0.2.safetensors",
    }


@pytest.mark.parametrize(
    ("values", "how"),
    [({}, "fedkin resume "), ({"method": {}}, r"fedkin\.resume\(.*, method=THE METHOD\)$")],
)
def test_who_finds_the_record_held_is_told_what_goes_on_with_the_run(tmp_path, values, how):
    made = create(tmp_path / "run.db", {"values": values}, [])
    kept = Recorder(tmp_path, made, lambda folder, at: [], 0.0, patience=-1.0)
    kept._try = lambda facts: False
    with pytest.raises(Halted, match=f"close that program, then go on with: {how}"):
        kept.commit(finished=True)
    made.close()


def test_a_round_is_recorded_once(tmp_path, database):
    kept = recorder(tmp_path, database)
    kept.add(record(1))
    with pytest.raises(FedkinError, match="Committed up to round 1"):
        kept.add(record(1))
    assert database.rows("SELECT count(*) FROM rounds") == [(1,)]


def test_before_the_first_commit_there_is_no_round(tmp_path, database):
    kept = recorder(tmp_path, database, every=1e9)
    kept.add(record(0))
    kept.add(record(0))  # twice, which the database refuses
    with pytest.raises(FedkinError, match=r"cannot be written.*\. Nothing is committed yet$"):
        kept.commit()


def test_a_commit_looks_at_no_file_of_a_client_that_did_not_change(tmp_path, database, monkeypatch):
    """A round of ten clients of a hundred thousand would look at all of their files."""
    changing = [[checkpoint.SERVER, 0, 1, 2], [checkpoint.SERVER, 1], [2]]

    def save(folder, number):
        for client in changing[number]:
            (folder / checkpoint.name(client, number)).write_text("state")
        return changing[number]

    kept = Recorder(tmp_path, database, save, 0.0)
    kept.add(record(0))
    looked: list[str] = []
    for name in ("lstat", "stat", "is_file", "is_symlink", "unlink"):
        real = getattr(Path, name)

        def noted(path, *given, real=real, **named):
            looked.append(path.name)
            return real(path, *given, **named)

        monkeypatch.setattr(Path, name, noted)
    kept.add(record(1))
    kept.add(record(2))
    monkeypatch.undo()
    assert "0.0.safetensors" not in looked
    assert {path.name for path in (tmp_path / "checkpoint").iterdir()} == {
        "server.1.safetensors",
        "0.0.safetensors",
        "1.1.safetensors",
        "2.2.safetensors",
    }
