"""What passes between processes of one machine: JSON headers and the bytes beside them. Nothing is
pickled.

Bytes go through a file in memory, one for each direction, which has no name: a pipe would pass them
on in pieces, with both ends waiting for each other. What is too much for the file goes through the
pipe.
"""

import json
import os
import socket
import sys
import tempfile
from collections.abc import Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from typing import IO, Any

from fedkin.core.system.posix import not_here

# bytes of such a file: larger messages are rare, and training takes far longer than their way
ROOM = 32 << 20
MEMORY = Path("/dev/shm")


def offer(connection: "Connection[Any, Any]", beside: IO[bytes]) -> "Channel":
    """The end that makes the files and hands them over, and another one ``beside`` them.

    Args:
        connection: To a process that calls ``accept``.
        beside: An open file that both ends share.

    Returns:
        The line, ready to be used.
    """
    if sys.platform == "win32":
        not_here()
    # the line closes them
    out, into = (tempfile.TemporaryFile(dir=folder_in_memory()) for _ in range(2))  # noqa: SIM115
    with _socket(connection) as end:
        socket.send_fds(end, [b"3"], [out.fileno(), into.fileno(), beside.fileno()])
    return Channel(connection, out, into)


def accept(connection: "Connection[Any, Any]") -> "tuple[Channel, IO[bytes]]":
    """The end that is handed them, and the file beside them.

    Args:
        connection: To a process that calls ``offer``.

    Returns:
        The line, and the shared file.

    Raises:
        EOFError: The other end is gone.
    """
    if sys.platform == "win32":
        not_here()
    with _socket(connection) as end:
        _, files, _, _ = socket.recv_fds(end, 1, 3)
    if len(files) < 3:
        raise EOFError
    into, out, beside = (os.fdopen(file, "r+b", buffering=0) for file in files)
    return Channel(connection, out, into), beside


def folder_in_memory() -> Path | None:
    """Where files without a name are memory; None, for the usual folder, where there is no such
    place.

    Returns:
        A folder, or None.
    """
    return MEMORY if MEMORY.is_dir() else None


def _socket(connection: "Connection[Any, Any]") -> socket.socket:
    if sys.platform == "win32":
        not_here()
    return socket.fromfd(connection.fileno(), socket.AF_UNIX, socket.SOCK_STREAM)


class Channel:
    """One end.

    Whoever asks waits for all answers before asking again: each question finds both files empty.

    Args:
        connection: By which headers go.
        out: The file that this end writes large parts into.
        into: The file that the other end writes into.
    """

    def __init__(self, connection: "Connection[Any, Any]", out: IO[bytes], into: IO[bytes]) -> None:
        self.connection = connection
        self._out, self._into = out, into
        self._used = 0

    def begin(self) -> None:
        """A question begins: what this end put into its file has been read."""
        self._used = 0

    def ask(self, header: dict[str, Any], blobs: Sequence[bytes] = ()) -> None:
        """A question: the first thing that is sent after all answers have come.

        Args:
            header: What JSON can hold.
            blobs: Encoded messages.
        """
        self.begin()
        self.tell(header, blobs)

    def tell(self, header: dict[str, Any], blobs: Sequence[bytes] = ()) -> None:
        """One header and so many blobs.

        Args:
            header: What JSON can hold.
            blobs: Encoded messages; each goes through the file, or the connection where it does not
                fit.
        """
        places = [self._put(blob) for blob in blobs]
        self.connection.send_bytes(json.dumps({**header, "blobs": places}).encode())
        for blob, place in zip(blobs, places, strict=True):
            if place is None:
                self.connection.send_bytes(blob)

    def receive(self) -> tuple[dict[str, Any], list[bytes]]:
        """What the other end sent.

        Returns:
            (the header, byte strings).

        Raises:
            EOFError: The other end is gone.
        """
        header = json.loads(self.connection.recv_bytes())
        return header, [self._get(place) for place in header.pop("blobs")]

    def close(self) -> None:
        """Hang up."""
        self.connection.close()
        self._out.close()
        self._into.close()

    def _put(self, blob: bytes) -> tuple[int, int] | None:
        if sys.platform == "win32":
            not_here()
        first = self._used
        if first + len(blob) > ROOM:
            return None
        try:
            if os.pwrite(self._out.fileno(), blob, first) < len(blob):
                return None
        except OSError:  # no memory is left for it
            return None
        self._used += len(blob)
        return first, len(blob)

    def _get(self, place: tuple[int, int] | None) -> bytes:
        if sys.platform == "win32":
            not_here()
        if place is None:
            return self.connection.recv_bytes()
        first, size = place
        return os.pread(self._into.fileno(), size, first)
