"""The messages of a round on disk: where thousands of clients send models at once, memory holds one of them."""

import tempfile
import weakref
from pathlib import Path

from fedkin.core.tree import Tree
from fedkin.engine.store import StoreError
from fedkin.engine.wire import decode


class Spooled:
    """A ``Reply`` whose message is read and decoded anew each time that it is asked for."""

    def __init__(self, spool: "Spool", at: int, size: int, weight: float) -> None:
        self._spool, self._at, self._size = spool, at, size
        self.weight = weight

    @property
    def message(self) -> Tree:
        return decode(self._spool.read(self._at, self._size))


class Spool:
    """A file without a name in ``folder``: it is gone with the last reply, and after a crash. Raises StoreError."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._end = folder, 0
        try:
            self._file = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115 - it lives as long as the replies
        except OSError as error:
            raise StoreError(f"{folder} cannot be written: {error.strerror}") from None
        weakref.finalize(self, self._file.close)

    def put(self, message: bytes, weight: float) -> Spooled:
        """Keep a message."""
        try:
            self._file.seek(self._end)
            self._file.write(message)
            self._file.flush()
        except OSError as error:
            raise StoreError(f"{self._folder} cannot be written: {error.strerror}") from None
        at, self._end = self._end, self._end + len(message)
        return Spooled(self, at, len(message), weight)

    def read(self, at: int, size: int) -> bytes:
        """A part of the file."""
        self._file.seek(at)
        return self._file.read(size)
