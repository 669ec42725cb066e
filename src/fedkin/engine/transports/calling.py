"""Where worker processes call their coordinator: a socket's path, which the system keeps short."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

LONGEST = 100  # bytes of a socket's path: Linux takes 107, macOS 103
NAME = len("/pymp-12345678/listener-12345678")  # what multiprocessing adds to the temporary folder
SHORT = "/tmp"


@contextmanager
def calling_address() -> Iterator[str | None]:
    """The address that workers call.

    Returns:
        None, which leaves the choice to multiprocessing, in the temporary folder; where that
        folder's own path is too long, a socket in a new folder of mode 0700 under /tmp, removed at
        the end of the block.
    """
    if len(os.fsencode(tempfile.gettempdir())) + NAME <= LONGEST:
        yield None
        return
    folder = tempfile.mkdtemp(prefix="fedkin-call-", dir=SHORT)
    try:
        yield os.path.join(folder, "socket")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
