"""The messages of a round on disk: where thousands of clients send models at once, memory holds one
of them.
"""

import tempfile
import weakref
from collections.abc import Iterator, Mapping
from pathlib import Path

from fedkin.core.aggregation import Reply
from fedkin.engine.codec import decode
from fedkin.engine.store import StoreError


class Spool(Mapping[int, Reply]):
    """{client: reply} in client order; a reply is read and decoded anew each time that it is asked
    for.

    It lives in a file without a name: gone with the mapping, and after a crash.

    Args:
        folder: On whose disk the file is.

    Raises:
        StoreError: The folder cannot be written.
    """

    def __init__(self, folder: Path) -> None:
        self._folder, self._end = folder, 0
        # client: offset and length in bytes, weight
        self._places: dict[int, tuple[int, int, float]] = {}
        try:
            # it lives as long as the replies
            self._file = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115
        except OSError as error:
            raise StoreError(f"{folder} cannot be written: {error.strerror}") from None
        weakref.finalize(self, self._file.close)

    def put(self, client: int, message: bytes, weight: float) -> None:
        """Keep a client's encoded message.

        Args:
            client: Its number.
            message: Encoded.
            weight: Its number of training samples.

        Raises:
            StoreError: The folder cannot be written.
        """
        try:
            self._file.seek(self._end)
            self._file.write(message)
            self._file.flush()
        except OSError as error:
            raise StoreError(f"{self._folder} cannot be written: {error.strerror}") from None
        self._places[client] = self._end, len(message), weight
        self._end += len(message)

    def __getitem__(self, client: int) -> Reply:
        at, size, weight = self._places[client]
        try:
            self._file.seek(at)
            message = self._file.read(size)
        except OSError as error:
            raise StoreError(f"{self._folder} cannot be read: {error.strerror}") from None
        return Reply(decode(message), weight)

    def __iter__(self) -> Iterator[int]:
        return iter(sorted(self._places))

    def __len__(self) -> int:
        return len(self._places)
