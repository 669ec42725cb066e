"""What Windows has not: the one place that asks for it, so that all else runs without it.

Where there is no other way, the caller says so in one sentence. Nothing was run on Windows itself:
tests/core/system/test_posix.py takes these names away on Linux.
"""

import ctypes
import os
import signal
import socket
import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any, NoReturn

from fedkin.core.system.cgroup import most_memory, quota


def _module(name: str) -> Any:
    """A module of the standard library; None where this system has none of the name."""
    try:
        return import_module(name)
    except ImportError:
        return None


fcntl, grp, pwd, resource = (_module(name) for name in ("fcntl", "grp", "pwd", "resource"))

POSIX = hasattr(os, "getuid")  # files have owners and modes, folders can be synchronised
HANDS_OVER = POSIX and hasattr(socket, "send_fds")  # open files, from process to process
# what tells a process to end
ENDS = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))
PARENT_ENDS = 1  # of prctl: which signal a process gets when its parent ends
HANGUP: int | None = getattr(signal, "SIGHUP", None)  # the terminal is gone
MEMORY = 4 << 30  # bytes, of a machine that does not say


def _flag(*names: str) -> int:
    return sum(getattr(os, name, 0) for name in names)


# Of os.open. Without O_BINARY Windows reads and writes other bytes than it is given.
OPEN = _flag("O_CLOEXEC", "O_BINARY", "O_NOINHERIT")
WAITS_FOR_NOBODY = _flag("O_NONBLOCK")
FOLLOWS_NO_LINK = _flag("O_NOFOLLOW")


def not_here() -> NoReturn:
    """Of code that callers keep from Windows: it says so to those who read it, and to mypy.

    Raises:
        NotImplementedError: Always.
    """
    raise NotImplementedError("Windows has nothing of the kind")


def user() -> int:
    """The number of this process's user.

    Returns:
        A number from 0.

    Raises:
        AttributeError: Users have no numbers: ``POSIX`` is False.
    """
    number: int = getattr(os, "getuid")()  # noqa: B009 (not an attribute everywhere)
    return number


def memory() -> int:
    """Bytes of memory that this process may use: those of the machine (``MEMORY`` where it does
    not say), or fewer where a container or a group has a limit.

    Returns:
        Bytes, above 0.
    """
    ask = getattr(os, "sysconf", None)
    there = MEMORY if ask is None else int(ask("SC_PAGE_SIZE") * ask("SC_PHYS_PAGES"))
    return min(there, most_memory() or there)


def cores() -> int:
    """The cores that this process may use: a job of a cluster has some of a machine's, and a
    container may have the time of some.

    Returns:
        A number from 1.
    """
    ask = getattr(os, "sched_getaffinity", None)
    there = os.cpu_count() or 1 if ask is None else len(ask(0))
    return min(there, quota() or there)


def tied_to_this() -> Callable[[], None] | None:
    """What a child of this process does before its program begins, so that it is told to end
    (SIGTERM) when this process ends, killed or not; None where the system has nothing of the kind,
    as macOS. The child belongs to the thread that starts it: that is the main one.

    Returns:
        A function for ``subprocess``' preexec_fn, or None.
    """
    if sys.platform != "linux":
        return None
    prctl, parent = ctypes.CDLL(None).prctl, os.getpid()
    told = ctypes.c_ulong(signal.SIGTERM)

    def tie() -> None:
        prctl(PARENT_ENDS, told)
        if os.getppid() != parent:  # it has ended meanwhile
            os._exit(1)

    return tie
