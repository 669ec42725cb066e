"""What a run did before it is resumed."""

import sqlite3
from pathlib import Path

import pytest

from fedkin.cli.before_resume import before
from fedkin.core.errors import FedkinError
from tests.awkward import record


def test_rounds_and_bytes_of_what_is_there(tmp_path: Path) -> None:
    run = record(tmp_path / "run")
    assert before(run) is None
    with sqlite3.connect(run / "run.db") as connection:
        connection.execute("UPDATE facts SET value = 'false' WHERE name = 'finished'")
        ((size,),) = connection.execute("SELECT sum(bytes) FROM messages").fetchall()
    assert before(run) == (4, size)


def test_one_that_was_killed_early_begins_anew_and_no_run_is_told(tmp_path: Path) -> None:
    (tmp_path / "early").mkdir()
    (tmp_path / "early" / "experiment.toml").write_text("")
    assert before(tmp_path / "early") == (0, 0)
    with pytest.raises(FedkinError):
        before(tmp_path / "nothing")
