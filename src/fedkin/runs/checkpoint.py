"""The checkpoint of a run directory, and the rule that makes a round one transaction.

Order: every changed state is written under a new name and fsynced; then one database transaction
adds the rounds and says which files belong to them; then files that nothing refers to are removed.
Killed anywhere, the database still names a complete set of files.
"""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from fedkin.core.errors import FedkinError, Halted, reason
from fedkin.core.system.posix import FOLLOWS_NO_LINK, OPEN, POSIX, WAITS_FOR_NOBODY, fcntl
from fedkin.runs.bounds import CLIENTS, ROUNDS
from fedkin.runs.database import Database
from fedkin.runs.directory import LOCK, check_own, states_of

SERVER = -1  # the server's entry among the clients' states
# what ``tidy`` may remove
OURS = re.compile(r"(server|\d{1,10})\.\d{1,10}\.safetensors(\.\d{1,10}\.part)?")


def name(client: int, round: int) -> str:
    """The name of the file of one state: the server's, or a client's.

    Args:
        client: Its number, from 0; SERVER for the server.
        round: The round of the commit, from 0 (setup).

    Returns:
        "3.12.safetensors" for client 3 after round 12, say.
    """
    return f"{'server' if client == SERVER else client}.{round}.safetensors"


def named(run: Path, database: Database) -> dict[int, Path]:
    """The file of each last committed state, whether it is there or not.

    Args:
        run: The run's folder.
        database: Its record.

    Returns:
        {client: path}; SERVER is the server.

    Raises:
        FedkinError: The record names a client or a round that cannot be one.
    """
    files: dict[int, Path] = {}
    for client, round in database.rows("SELECT client, round FROM states"):
        if not (_whole(client, SERVER, CLIENTS) and _whole(round, 0, ROUNDS)):
            raise FedkinError(
                f"{run} is damaged: {str(client)[:40]!r} and {str(round)[:40]!r} name no state"
            )
        files[client] = states_of(run) / name(client, round)
    return files


def _whole(value: object, low: int, high: int) -> bool:
    return isinstance(value, int) and low <= value <= high


def committed(run: Path, database: Database) -> dict[int, Path]:
    """``named``, of files that are all there.

    Args:
        run: The run's folder.
        database: Its record.

    Returns:
        {client: path}; SERVER is the server.

    Raises:
        FedkinError: A file is missing, or a link.
    """
    paths = named(run, database)
    for path in paths.values():
        if path.is_symlink() or not path.is_file():
            raise FedkinError(f"{run} is damaged: {path.name} is missing from its checkpoint")
    return paths


def tidy(run: Path, keep: dict[int, Path]) -> None:
    """Remove what no commit refers to: superseded states and half-written files, by their names,
    and nothing else.

    Args:
        run: The run's folder.
        keep: {client: path} of what the last commit refers to.

    Raises:
        FedkinError: A folder of the run is a link.
    """
    check_own(run)  # a folder that is a link leads to somebody else's files
    wanted = set(keep.values())
    for path in states_of(run).iterdir():
        if (
            path not in wanted
            and OURS.fullmatch(path.name)
            and (path.is_symlink() or path.is_file())
        ):
            path.unlink(missing_ok=True)


@contextmanager
def alone(run: Path) -> Iterator[None]:
    """One process at a time writes a run: two would remove each other's checkpoints. A killed one
    lets go.

    Args:
        run: The run's folder.

    Yields:
        Nothing; the run is locked within the block.

    Raises:
        FedkinError: A file or a folder of the run is a link.
        Halted: Another process writes the run, or the folder cannot be written.
    """
    check_own(run)
    lock = FileLock(run / LOCK, timeout=0)
    try:
        lock.acquire()
    except Timeout:
        raise Halted(
            f"{run} is being written by another process: wait for it, or stop it first"
        ) from None
    except OSError as error:
        raise Halted(f"{run} cannot be written: {reason(error)}") from error
    try:
        yield
    finally:
        lock.release()


def in_training(run: Path) -> bool:
    """Whether a process writes a run just now. Nothing is written for it, so that whoever may only
    read the folder can ask, too.

    Args:
        run: The run's folder.

    Returns:
        False where that cannot be told: on Windows, and where the file cannot be read.
    """
    if not POSIX:
        return False
    try:
        handle = os.open(run / LOCK, os.O_RDONLY | OPEN | FOLLOWS_NO_LINK | WAITS_FOR_NOBODY)
    except OSError:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError as error:
        return isinstance(error, BlockingIOError)
    finally:
        os.close(handle)
    return False
