"""What installed packages offer fedkin: the entry points of a group."""

import os
import sys
from functools import lru_cache
from importlib.metadata import EntryPoint, entry_points


def installed(group: str) -> tuple[EntryPoint, ...]:
    """The entry points of a group. Reading them opens a file of every installed package, so they
    are read again only after a folder on Python's path has changed.

    Args:
        group: Its name, as ``fedkin.methods``.

    Returns:
        The entry points, in the order in which Python finds them.
    """
    return _read(group, tuple((folder, _changed(folder)) for folder in sys.path))


@lru_cache(maxsize=8)
def _read(group: str, path: tuple[tuple[str, int | None], ...]) -> tuple[EntryPoint, ...]:
    """``path`` only says whether this is the path of the last time."""
    return tuple(entry_points(group=group))


def _changed(folder: str) -> int | None:
    """When its entries last changed, in nanoseconds; None of a folder that cannot be read."""
    try:
        return os.stat(folder or ".").st_mtime_ns
    except OSError:
        return None
