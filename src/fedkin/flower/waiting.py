"""Word of the nodes that a start waits for, from the server app to the terminal that began it."""

import json
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from fedkin.core.errors import some
from fedkin.core.files import read_file, write_file

SHOWN = 20  # names, at most
LARGEST = 1 << 16  # bytes of the word


class Waiting:
    """Leaves the word, anew whenever others are missing.

    Args:
        path: Where it is left; None: nobody looks.
        clients: How many there are.
    """

    def __init__(self, path: Path | None, clients: int) -> None:
        self._path, self._clients = path, clients
        self._told: list[str] = []

    def tell(self, missing: Sequence[str]) -> None:
        """Say who is missing. A disk that is full keeps nobody from waiting.

        Args:
            missing: Their names; nobody's once all are there.
        """
        if self._path is None or list(missing) == self._told:
            return
        self._told = list(missing)
        word = f"waiting for {some(missing, SHOWN)} ({len(missing)} of {self._clients} nodes)"
        with suppress(OSError):
            if missing:
                write_file(self._path, json.dumps({"waiting": word}).encode())
            else:
                self._path.unlink(missing_ok=True)


def word_at(path: Path) -> str:
    """Who is waited for.

    Args:
        path: Where the word is left.

    Returns:
        A sentence; "" where nobody is waited for.
    """
    try:
        return str(json.loads(read_file(path, LARGEST))["waiting"])
    except (OSError, ValueError, KeyError, TypeError):
        return ""
