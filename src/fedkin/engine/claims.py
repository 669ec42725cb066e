"""Places of a list, each taken by one of several processes: a number in a file that they share, under its lock."""

import fcntl
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO

from fedkin.engine.line import folder_in_memory

SIZE = 8  # bytes of the number


class Claims:
    """One process's end; ``file`` is handed to the others."""

    def __init__(self, file: IO[bytes]) -> None:
        self.file = file

    def begin(self) -> None:
        """The next place taken is the first one. Nobody may be taking any."""
        self._write(0)

    def up_to(self, end: int) -> Iterator[int]:
        """Places below ``end`` that nobody else gets, until there is none left."""
        while (place := self._next()) < end:
            yield place

    def close(self) -> None:
        self.file.close()

    def _next(self) -> int:
        with self._locked():
            place = int.from_bytes(os.pread(self.file.fileno(), SIZE, 0), "little")
            self._write(place + 1)
        return place

    def _write(self, place: int) -> None:
        os.pwrite(self.file.fileno(), place.to_bytes(SIZE, "little"), 0)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        fcntl.lockf(self.file, fcntl.LOCK_EX)  # the kernel opens it where a process ends
        try:
            yield
        finally:
            fcntl.lockf(self.file, fcntl.LOCK_UN)


def claims() -> Claims:
    """New ones, at the first place."""
    made = Claims(tempfile.TemporaryFile(dir=folder_in_memory(), buffering=0))  # noqa: SIM115 (it closes the file)
    made.begin()
    return made
