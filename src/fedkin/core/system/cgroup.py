"""How many cores, and how much memory, a container or a group of processes may use of its
machine's (Linux).

``docker run --cpus=2`` hides no core. It says in a file how much time all of them get together.
``--memory=2g`` hides no memory either.
"""

import os
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

GROUPS = Path("/sys/fs/cgroup")
OWN = Path("/proc/self/cgroup")  # a line for each hierarchy: number, controllers, path
QUOTA, PERIOD = "cpu.cfs_quota_us", "cpu.cfs_period_us"  # of the first version
LIMIT = "cpu.max"  # of the second: both in one
BYTES = ("memory.max", "memory.limit_in_bytes")  # of the second version, and of the first
MOST = 1 << 14  # bytes of such a file
DIGITS = 18  # of a number in it
DEEPEST = 32  # groups within groups


def quota() -> int | None:
    """The cores that the groups of this process may use at once, whatever their files hold.

    Returns:
        A number from 1, the least of all groups, rounded up; None where there is no limit.
    """
    found = [cores for folder in _folders("cpu") if (cores := _cores_of(folder)) is not None]
    return min(found, default=None)


def most_memory() -> int | None:
    """The memory that the groups of this process may use, whatever their files hold.

    Returns:
        Bytes above 0, the least of all groups; None where there is no limit.
    """
    texts = [_text(folder / name).strip() for folder in _folders("memory") for name in BYTES]
    limits = [int(text) for text in texts if _is_number(text) and int(text)]
    return min(limits, default=None)


def _folders(controller: str) -> Iterator[Path]:
    """Of the groups that this process is in, and of those that these are in."""
    yield GROUPS
    for line in _text(OWN).splitlines():
        number, _, rest = line.partition(":")
        names, _, path = rest.partition(":")
        if number == "0" and not names:
            yield from _downwards(GROUPS, path)
        elif controller in names.split(",") and "/" not in names:
            yield GROUPS / names
            yield from _downwards(GROUPS / names, path)


def _downwards(root: Path, path: str) -> Iterator[Path]:
    parts = [part for part in path.split("/", DEEPEST + 1) if part]
    if ".." in parts:  # of a group outside of the container
        return
    for part in islice(parts, DEEPEST):
        root = root / part
        yield root


def _cores_of(folder: Path) -> int | None:
    both = _text(folder / LIMIT).split()
    if not both:
        both = [*_text(folder / QUOTA).split(), *_text(folder / PERIOD).split()]
    if len(both) != 2 or not all(map(_is_number, both)):
        return None  # "max", and -1 of the first version, is no limit
    microseconds, period = map(int, both)
    return -(-microseconds // period) if microseconds and period else None


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) <= DIGITS


def _text(path: Path) -> str:
    """The content of a file of the kernel, which says no size; "" of what is no such file."""
    try:
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
        try:
            content = os.read(handle, MOST + 1)
        finally:
            os.close(handle)
    except (OSError, ValueError):
        return ""
    return "" if len(content) > MOST else content.decode("utf-8", "replace")
