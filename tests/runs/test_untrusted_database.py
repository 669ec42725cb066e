"""run.db of a stranger."""

import sqlite3
from pathlib import Path

import pytest

from fedkin.core.errors import FedkinError
from fedkin.runs import untrusted_database
from fedkin.runs.untrusted_database import check_file, check_schema, ends, journal_of, recovered


def made(path: Path, *statements: str) -> Path:
    connection = sqlite3.connect(path)
    for statement in ("CREATE TABLE t (a INTEGER, b TEXT)", *statements):
        connection.execute(statement)
    connection.commit()
    connection.close()
    return path


def test_a_plain_one_passes_and_what_is_none_is_refused(tmp_path: Path) -> None:
    path = made(tmp_path / "run.db")
    check_file(path)
    (tmp_path / "text").write_text("not at all a database")
    with pytest.raises(FedkinError, match="file is not a database"):
        check_file(tmp_path / "text")
    whole = bytearray(path.read_bytes())
    whole[18:20] = b"\2\2"
    path.write_bytes(whole)
    with pytest.raises(FedkinError, match="write-ahead log"):
        check_file(path)


def test_a_journal_that_names_another_is_refused(tmp_path: Path) -> None:
    path = made(tmp_path / "run.db")
    journal_of(path).write_bytes(b"x" * 40)
    check_file(path)
    journal_of(path).write_bytes(b"x" * 40 + untrusted_database.NAMES_ANOTHER)
    with pytest.raises(FedkinError, match="names another journal"):
        check_file(path)


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE VIEW v AS SELECT 1",
        "CREATE TRIGGER g AFTER INSERT ON t BEGIN DELETE FROM t; END",
        "CREATE TABLE c (a INTEGER, b INTEGER GENERATED ALWAYS AS (a + 1))",
        "CREATE TABLE d (a INTEGER DEFAULT 3)",
        "CREATE INDEX i ON t (a)",
    ],
)
def test_tables_that_compute_are_refused(tmp_path: Path, statement: str) -> None:
    connection = sqlite3.connect(made(tmp_path / "run.db", statement))
    with pytest.raises(ValueError, match="is no plain table"):
        check_schema(connection)
    connection.close()


def test_a_question_without_end_is_interrupted(tmp_path: Path) -> None:
    path = made(tmp_path / "run.db")
    connection = sqlite3.connect(path)
    check_schema(connection)
    long = (  # ten million rows: several times the steps that a small file is allowed, and an end
        "WITH RECURSIVE n(k) AS (SELECT 1 UNION ALL SELECT k + 1 FROM n WHERE k < 10000000) "
        "SELECT max(k) FROM n"
    )
    with ends(connection, path), pytest.raises(sqlite3.OperationalError, match="interrupted"):
        connection.execute(long).fetchall()
    connection.close()


def test_a_copy_is_mended_and_the_record_stays(tmp_path: Path) -> None:
    path = made(tmp_path / "run.db", "INSERT INTO t VALUES (1, 'x')")
    journal_of(path).touch()
    before = path.read_bytes()
    with recovered(path) as folder:
        copy = sqlite3.connect(Path(folder) / "run.db")
        assert copy.execute("SELECT b FROM t").fetchall() == [("x",)]
        copy.close()
    assert path.read_bytes() == before
    assert not Path(folder).exists()


def test_a_record_that_its_run_has_mended_meanwhile_is_copied_as_it_is(tmp_path: Path) -> None:
    path = made(tmp_path / "run.db", "INSERT INTO t VALUES (1, 'x')")
    assert not journal_of(path).exists()
    with recovered(path) as folder:
        copy = sqlite3.connect(Path(folder) / "run.db")
        assert copy.execute("SELECT b FROM t").fetchall() == [("x",)]
        copy.close()
