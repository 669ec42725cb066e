"""Places of a list, each taken by one of several processes: the place where they stand in a file
that they share.

Who is handed an open file shares its offset, and to move that is one call that nothing comes
between (POSIX.1-2017, 2.9.7): no lock, and nothing to open again where a process ends. The file is
empty.
"""

import os
import tempfile
from collections.abc import Iterator
from typing import IO

from fedkin.engine.transports.ipc import folder_in_memory


class Claims:
    """One process's end.

    Args:
        file: Is handed to the others.
    """

    def __init__(self, file: IO[bytes]) -> None:
        self.file = file

    def begin(self) -> None:
        """The next place taken is the first one. Nobody may be taking any."""
        os.lseek(self.file.fileno(), 0, os.SEEK_SET)

    def up_to(self, end: int) -> Iterator[int]:
        """Places below ``end`` that nobody else gets, until there is none left.

        Args:
            end: How many places there are.

        Yields:
            Ascending numbers from 0.
        """
        while (place := os.lseek(self.file.fileno(), 1, os.SEEK_CUR) - 1) < end:
            yield place

    def close(self) -> None:
        """Close this end's file."""
        self.file.close()


def claims() -> Claims:
    """New ones, at the first place.

    Returns:
        One end, for this process.
    """
    return Claims(tempfile.TemporaryFile(dir=folder_in_memory(), buffering=0))
