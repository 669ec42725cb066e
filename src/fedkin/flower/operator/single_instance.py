"""The programs of one folder run once: a second start is told who has them."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from fedkin.core.errors import FedkinError
from fedkin.core.files import read_file, write_file

LARGEST = 100  # bytes of a process's number


@contextmanager
def single_instance(folder: Path, verb: str, kept: Path | None = None) -> Iterator[None]:
    """Keep what ``fedkin deploy VERB`` runs to this process, until it ends, however that is.

    Args:
        folder: Whose programs they are.
        verb: What is run; part of the files' names.
        kept: Where that is noted, on a disk of this machine; None: in the folder.

    Yields:
        Nothing.

    Raises:
        FedkinError: Another process runs it, and which.
    """
    number = (kept or folder) / f"{verb}.pid"
    # a lock ends with its process, and a file would stay
    lock = FileLock((kept or folder) / f"{verb}.lock")
    try:
        lock.acquire(timeout=0)
    except Timeout:
        raise FedkinError(
            f"fedkin deploy {verb} is running already for {folder}{_named(number)}: "
            "end that one first"
        ) from None
    try:
        write_file(number, str(os.getpid()).encode())
        yield
    finally:
        lock.release()


def _named(number: Path) -> str:
    try:
        return f", process {int(read_file(number, LARGEST))}"
    except (OSError, ValueError):
        return ""
