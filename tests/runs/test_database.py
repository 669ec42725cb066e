"""run.db: whole or not at all, read while it is written, refused when it is another version's."""

import math
import sqlite3
import threading
from contextlib import closing

import numpy as np
import pytest

from fedkin.core.errors import FedkinError
from fedkin.runs import checkpoint
from fedkin.runs.database import (
    VERSION,
    Database,
    before_resume,
    create,
    open_run,
    put_facts,
    put_rows,
    read_only,
)
from tests.awkward import record as awkward_record
from tests.runs.database_examples import record, recorder


@pytest.fixture
def database(tmp_path):
    made = create(tmp_path / "run.db", {"seed": 3}, [(0, "zero", "mlr", 1, 2, 3, "[1]")])
    yield made
    made.close()


def test_created_whole(tmp_path, database):
    assert [path.name for path in tmp_path.iterdir()] == ["run.db"]
    assert database.facts() == {"version": VERSION, "seed": 3}
    assert database.rows("SELECT client, name FROM clients") == [(0, "zero")]
    assert database.last_round() == -1


def test_numbers_come_in_columns_and_null_is_nan(database, monkeypatch):
    rows = [(1, k, "global", "test", None if k == 2 else k / 4, 0.5) for k in range(5)]
    with database.commit() as transaction:
        put_rows(transaction, "metrics", rows)
    query = "SELECT client, loss FROM metrics WHERE client < ? ORDER BY client"
    for part in (1, 2, 50):  # rows at a time
        monkeypatch.setattr("fedkin.runs.database.PART", part)
        found = database.columns(query, 4)
        assert np.array_equal(found, [[0, 0], [1, 0.25], [2, np.nan], [3, 0.75]], equal_nan=True)
    assert database.columns(query, -1).shape == (0, 2)


@pytest.mark.parametrize(
    "query", ["SELECT n FROM no_table", "SELECT a.client FROM metrics a, metrics b, metrics c"]
)
def test_columns_that_have_no_end_or_no_table_are_damage(database, query):
    rows = [(1, k, "global", "test", 0.5, 0.5) for k in range(60)]
    with database.commit() as transaction:
        put_rows(transaction, "metrics", rows)
    for ask in (database.rows, database.columns):
        with pytest.raises(FedkinError, match=r"run\.db is damaged: .*no (such table|end)"):
            ask(query)


def test_the_folder_is_synced_after_the_journal_is_removed(tmp_path, monkeypatch):
    """By SQLite itself (synchronous = EXTRA, 3), whoever writes: that is when a commit is made."""
    levels, commit = [], Database.commit

    def committed(self):
        levels.append(self.rows("PRAGMA synchronous"))
        return commit(self)

    monkeypatch.setattr(Database, "commit", committed)
    with closing(create(tmp_path / "run.db", {})) as database, database.commit():
        pass
    with closing(open_run(tmp_path, write=True)) as database, database.commit():
        pass
    assert levels == [[(3,)]] * 3


def test_a_half_made_record_is_made_again(tmp_path):
    (tmp_path / "run.db.part").write_bytes(b"half")
    create(tmp_path / "run.db", {}).close()
    assert [path.name for path in tmp_path.iterdir()] == ["run.db"]


def test_a_commit_that_fails_leaves_no_trace(database):
    with pytest.raises(ZeroDivisionError), database.commit() as transaction:  # noqa: PT012
        put_facts(transaction, {"seed": 4})
        put_rows(transaction, "events", [(1, 1, "missing", "why")])
        raise ZeroDivisionError
    assert database.facts()["seed"] == 3
    assert database.rows("SELECT * FROM events") == []


def test_facts_are_json_whatever_their_numbers_are(database):
    with database.commit() as transaction:
        put_facts(transaction, {"tried": [1.5, math.nan, -math.inf]})
    ((text,),) = database.rows("SELECT value FROM facts WHERE name = 'tried'")
    assert text == "[1.5, null, null]"


@pytest.fixture
def crowded(tmp_path, database):
    """A recorder whose database somebody reads, and the reader, whose ``commit`` ends that."""
    with (
        closing(open_run(tmp_path, write=True, busy=0.01)) as own,
        closing(connected(tmp_path)) as reader,
    ):
        kept = recorder(tmp_path, own)
        kept.add(record(0, "setup"))
        reader.execute("BEGIN")
        reader.execute("SELECT * FROM rounds").fetchall()
        yield kept, reader


def connected(folder) -> sqlite3.Connection:
    return sqlite3.connect(folder / "run.db", isolation_level=None, check_same_thread=False)


def test_rounds_wait_for_a_reader(tmp_path, crowded, database):
    kept, reader = crowded
    saved = []

    def save(folder, number):  # client 0 changes in the first of them alone
        saved.append(number)
        (folder / checkpoint.name(checkpoint.SERVER, number)).write_text(f"server {number}")
        (folder / checkpoint.name(0, 1)).write_text("client 1")
        return [checkpoint.SERVER, *([0] if number == 1 else [])]

    kept.save = save
    for number in (1, 2, 3):
        kept.add(record(number))
        assert database.last_round() == 0
    assert saved == [1]  # not anew with each try: nodes keep the states of two savings, no more
    reader.execute("COMMIT")
    kept.add(record(4))
    assert saved == [1, 4]
    assert [number for (number,) in database.rows("SELECT round FROM rounds ORDER BY round")] == [
        0,
        1,
        2,
        3,
        4,
    ]
    paths = checkpoint.committed(tmp_path, database)
    assert {path.name for path in paths.values()} == {"server.4.safetensors", "0.1.safetensors"}
    assert set((tmp_path / "checkpoint").iterdir()) == set(paths.values())


def test_the_last_commit_waits_for_a_reader(crowded, database):
    kept, reader = crowded
    kept.add(record(1))
    end = threading.Timer(0.3, reader.execute, ("COMMIT",))
    end.start()
    kept.commit(finished=True)
    end.join()
    assert database.last_round() == 1
    assert database.facts()["finished"] is True


def test_a_reader_who_never_ends_is_told_of(crowded, database):
    kept, _ = crowded
    kept.patience = 0.1
    kept.add(record(1))
    with pytest.raises(
        FedkinError,
        match=r"another program holds its run\.db\. Committed up to round 0.*fedkin resume",
    ):
        kept.commit(finished=True)


def test_readers_cannot_write(tmp_path, database):
    with (
        read_only(tmp_path) as reader,
        pytest.raises(sqlite3.OperationalError, match="readonly"),
        reader.commit() as transaction,
    ):
        put_facts(transaction, {"seed": 4})


@pytest.mark.parametrize("version", [0, VERSION + 1, "next"])
@pytest.mark.parametrize("write", [True, False])
def test_other_versions_are_refused(version, write, tmp_path, database):
    with database.commit() as transaction:
        put_facts(transaction, {"version": version})
    with pytest.raises(
        FedkinError, match=f"version {version} of the run format, this fedkin reads {VERSION}"
    ):
        open_run(tmp_path, write=write)


def test_no_run(tmp_path):
    with pytest.raises(FedkinError, match=r"is not a run directory: it has no run\.db$"):
        open_run(tmp_path)
    with pytest.raises(FedkinError, match=r"/gone does not exist: name the folder of a run"):
        open_run(tmp_path / "gone")
    with pytest.raises(FedkinError, match=r"cannot be written"):
        create(tmp_path / "nowhere" / "run.db", {})


def test_a_record_that_somebody_holds_is_not_called_damaged(tmp_path, database):
    with closing(sqlite3.connect(tmp_path / "run.db", isolation_level=None)) as other:
        with read_only(tmp_path, busy=0.0) as reader:
            other.execute("BEGIN EXCLUSIVE")
            with pytest.raises(FedkinError, match=r"run\.db is held by another program: try again"):
                reader.facts()
        with pytest.raises(FedkinError, match=r"run\.db is held by another program: try again"):
            open_run(tmp_path, busy=0.0)


def test_rounds_and_bytes_before_a_resume(tmp_path):
    run = awkward_record(tmp_path / "run")
    assert before_resume(run) is None
    with sqlite3.connect(run / "run.db") as connection:
        connection.execute("UPDATE facts SET value = 'false' WHERE name = 'finished'")
        ((size,),) = connection.execute("SELECT sum(bytes) FROM messages").fetchall()
    assert before_resume(run) == (4, size)


def test_one_that_was_killed_early_begins_anew_and_no_run_is_told(tmp_path):
    (tmp_path / "early").mkdir()
    (tmp_path / "early" / "experiment.toml").write_text("")
    assert before_resume(tmp_path / "early") == (0, 0)
    with pytest.raises(FedkinError):
        before_resume(tmp_path / "nothing")
