"""A folder for a while: gone with whoever made it, and after a kill with the next who makes one.

A run's samples and states lie in such folders. What ends a process by force (SIGKILL) leaves them
behind; each holds a lock, so that others can tell whether its maker still lives.
"""

import os
import shutil
import stat
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from fedkin.core.system.posix import FOLLOWS_NO_LINK, OPEN, POSIX, WAITS_FOR_NOBODY, fcntl, user

PREFIX, ALIVE = "fedkin-", ".alive"
YOUNG = 60.0  # seconds within which a folder may have no lock yet


@contextmanager
def scratch() -> Iterator[Path]:
    """A new folder of mode 0700 in the temporary one, removed at the end of the block.

    Folders of the same kind whose makers were killed are removed first; not on Windows, which
    removes nothing that is open, the lock least of all.

    Yields:
        The folder.
    """
    if not POSIX:
        with tempfile.TemporaryDirectory(prefix=PREFIX, ignore_cleanup_errors=True) as name:
            yield Path(name)
        return
    remove_abandoned(Path(tempfile.gettempdir()))
    folder = Path(tempfile.mkdtemp(prefix=PREFIX))
    handle = os.open(folder / ALIVE, os.O_CREAT | os.O_RDWR | OPEN, 0o600)
    try:
        with suppress(OSError):  # a file system without locks
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(handle)


def remove_abandoned(temporary: Path) -> None:
    """Remove this user's folders whose maker does not live any more.

    Args:
        temporary: The folder that they stand in.
    """
    with suppress(OSError):
        for folder in sorted(temporary.glob(f"{PREFIX}*")):
            if _abandoned(folder):
                shutil.rmtree(folder, ignore_errors=True)


def _abandoned(folder: Path) -> bool:
    try:
        facts = folder.lstat()
        if not stat.S_ISDIR(facts.st_mode) or facts.st_uid != user():
            return False
        if time.time() - facts.st_mtime < YOUNG:
            return False
        handle = os.open(folder / ALIVE, os.O_RDWR | OPEN | FOLLOWS_NO_LINK | WAITS_FOR_NOBODY)
    except OSError:  # gone already, or not one of ours
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:  # its maker holds it
        return False
    finally:
        os.close(handle)
    return True
