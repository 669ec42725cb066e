"""What the tests of collaboration and of its parts have in common."""

import json
import sqlite3
from pathlib import Path
from typing import Any

from tests.report.records_for_tests import write


def noted(folder: Path, notes: list[tuple[int, int, str, Any]]) -> Path:
    """The small run with these notes in place of its own."""
    write(folder)
    with sqlite3.connect(folder / "run.db") as connection:
        connection.execute("DELETE FROM notes")
        rows = [(at, client, name, json.dumps(value)) for at, client, name, value in notes]
        connection.executemany("INSERT INTO notes VALUES (?, ?, ?, ?)", rows)
    return folder
