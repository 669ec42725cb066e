"""Lines that are added to a file of a node: all of them or none, and on the disk at once."""

import errno
import os
from collections.abc import Iterable
from io import FileIO
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
        with open(path, "a+b", buffering=0) as file:
            before = file.seek(0, os.SEEK_END)
            content = "".join(f"{line}\n" for line in lines).encode()
            if before and not _ends_a_line(file, before):  # the power failed while it was written
                content = b"\n" + content
            if file.write(content) < len(content):  # no half a line stays
                file.truncate(before)
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            os.fsync(file.fileno())
    except OSError as error:
        raise StoreError(f"{path.parent} cannot be written: {error.strerror}") from None


def _ends_a_line(file: FileIO, size: int) -> bool:
    file.seek(size - 1)
    return file.read(1) == b"\n"
