"""What the tests of lead and of its parts have in common."""

import sqlite3
from pathlib import Path
from typing import Any

from tests.report.records_for_tests import write

LAST = 3  # the finish


def change(folder: Path, client: int, by: float) -> Path:
    with sqlite3.connect(folder / "run.db") as database:
        database.execute(
            "UPDATE metrics SET accuracy = accuracy + ? WHERE client = ? AND round = ?",
            (by, client, LAST),
        )
    return folder


def beside(folder: Path, **facts: Any) -> Path:
    """comet with 0.5, 0.5, 0.8 beside local with 0.2, 0.6, 0.8."""
    local = write(folder / "local", **{"method": "local", **facts})
    change(change(local, 0, -0.3), 1, 0.1)
    return write(folder / "comet")
