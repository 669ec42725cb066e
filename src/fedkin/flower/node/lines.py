"""Lines that are added to a file of a node: all of them or none, and on the disk at once."""

import errno
import os
from collections.abc import Iterable
from pathlib import Path

from fedkin.engine.store import StoreError


def add_lines(path: Path, lines: Iterable[str]) -> None:
    """Add lines to a file, which is made where it is not there.

    Args:
        path: In a folder that is made as well.
        lines: ASCII, without their ends.

    Raises:
        StoreError: The disk is full, or the folder cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(path, "ab", buffering=0) as file:
            before = file.tell()
            content = "".join(f"{line}\n" for line in lines).encode()
            if file.write(content) < len(content):  # no half a line stays
                file.truncate(before)
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            os.fsync(file.fileno())
    except OSError as error:
        raise StoreError(f"{path.parent} cannot be written: {error.strerror}") from None
