"""What the tests of compare and of its parts have in common."""

import sqlite3
from io import StringIO
from pathlib import Path

from rich.console import Console


def shift(folder: Path, by: list[float]) -> Path:
    """Add to the clients' final personal test accuracies."""
    with sqlite3.connect(folder / "run.db") as connection:
        for client, change in enumerate(by):
            change_it = (
                "UPDATE metrics SET accuracy = accuracy + ? WHERE client = ? AND "
                "round = 3 AND split = 'test' AND view = 'personal'"
            )
            connection.execute(change_it, (change, client))
    return folder


def printed(renderable: object, width: int = 120) -> str:
    out = StringIO()
    Console(file=out, width=width).print(renderable)
    return out.getvalue()


def diverge(folder: Path, client: int) -> Path:
    """What a recorder keeps of a client whose loss is no finite number."""
    with sqlite3.connect(folder / "run.db") as connection:
        connection.execute(
            "UPDATE metrics SET loss = NULL WHERE client = ? AND view = 'personal'", (client,)
        )
    return folder
