"""How much memory a stranger's file may take, and the end of those that take more."""

import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from fedkin.core.errors import Halted
from fedkin.core.system.posix import memory, resource

SHARE = 0.5  # of this machine's memory that one file may take, where so much is free
# What a compressed table may take, whatever there is room for: so the longest time is that of
# filling a gigabyte, and of so many times the file
LEAST, TIMES = 1 << 30, 200
STATUS, MACHINE = Path("/proc/self/status"), Path("/proc/meminfo")


def room() -> int:
    """Bytes that one file may take: half of the machine's memory, or of what a container or a group
    of processes allows, and no more than is free.

    Returns:
        Bytes.
    """
    most = int(SHARE * memory())
    free = _kilobytes(MACHINE, "MemAvailable")
    return most if free is None else min(most, free)


def room_of_compressed(path: Path) -> int:
    """Bytes that a compressed table may take: no more than there is room for, nor many times its
    size.

    Args:
        path: The file on disk.

    Returns:
        Bytes of memory.
    """
    return min(room(), LEAST + TIMES * path.stat().st_size)


@contextmanager
def within_room(what: object, most: int | None = None) -> Iterator[None]:
    """Reading ``what`` takes no more memory than there is room for (or than ``most`` bytes).

    The system refuses further memory to this process meanwhile (Linux; elsewhere only what asks for
    more than there is fails). So a small file that inflates ends here, whatever its format.

    Args:
        what: What messages call it, such as its path.
        most: Bytes of memory; None: what the machine has now.

    Yields:
        Nothing: what is inside the ``with`` is the reading.

    Raises:
        Halted: it would take more.
    """
    most = room() if most is None else most
    try:
        with _limited(most):
            yield
    except MemoryError:
        raise Halted(
            f"{what} takes more than {most:,} bytes of memory, which is what a file of its size "
            "may take on this machine now: bring a smaller file, or use a larger machine"
        ) from None


@contextmanager
def _limited(most: int) -> Iterator[None]:
    used = _kilobytes(STATUS, "VmData")
    if used is None or resource is None:
        yield
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    limits = [used + most, *(one for one in (soft, hard) if one != resource.RLIM_INFINITY)]
    resource.setrlimit(resource.RLIMIT_DATA, (min(limits), hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))


def _kilobytes(path: Path, key: str) -> int | None:
    """Bytes that the system says under a key; None where it says nothing of the kind."""
    with suppress(OSError):
        match = re.search(rf"^{key}:\s+(\d+) kB$", path.read_text(encoding="ascii"), re.MULTILINE)
        return int(match[1]) * 1024 if match else None
    return None
