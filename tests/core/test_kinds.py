"""Kinds of messages are the ledger's columns."""

import sqlite3
from pathlib import Path

from fedkin.core.kinds import KINDS
from fedkin.runs.database import create


def test_every_kind_has_its_column_in_the_record_in_this_order(tmp_path: Path) -> None:
    create(tmp_path / "run.db", {}).close()
    with sqlite3.connect(tmp_path / "run.db") as connection:
        columns = [row[1] for row in connection.execute("PRAGMA table_info(messages)")]
    assert tuple(columns[-len(KINDS) :]) == KINDS
