"""Folders that only this user can change: the one place that decides whether what lies in a folder
may be believed.
"""

import os
import stat
from contextlib import suppress
from pathlib import Path

from fedkin.core.system.posix import POSIX, grp, pwd, user


def private_folder(path: Path) -> Path | None:
    """The folder with mode 0700, made where it is missing; None where somebody else could change
    what is in it.

    Links are followed first. Then every folder from the root down must belong to this user or to
    root, and must be writable by nobody else; a folder that all may write to must be sticky, as
    ``/tmp`` is. What is returned is the path without links, so that a link that is changed later
    leads nobody elsewhere. Windows keeps rights in lists that Python does not read: there, folders
    below this user's home are believed, and no others.

    Args:
        path: where the folder shall be. Its last part is refused if it is a link itself.

    Returns:
        The folder's real path, or None if it cannot be made or others could change it.
    """
    if not POSIX:
        return _below_home(path)
    try:
        real = Path(os.path.realpath(path.parent)) / path.name
        for part in reversed(real.parents):
            if not part.exists():
                part.mkdir(mode=0o700)
            if not _kept_by_us(part):
                return None
        with suppress(FileExistsError):
            real.mkdir(mode=0o700)
        facts = real.lstat()
    except (OSError, ValueError):  # no room, no right, or no path at all
        return None
    if not stat.S_ISDIR(facts.st_mode) or facts.st_uid != user() or _open_to_others(facts):
        return None
    try:
        if stat.S_IMODE(facts.st_mode) != 0o700:
            real.chmod(0o700)
    except OSError:
        return None
    return real if os.access(real, os.W_OK) else None


def state_folder(kind: str, default: str) -> Path:
    """fedkin's folder below one of the XDG directories.

    Args:
        kind: the name of the variable, such as "XDG_CACHE_HOME".
        default: what stands for it in the home, such as ".cache".

    Returns:
        A path; nothing is made.

    Raises:
        RuntimeError: nobody knows a home.
    """
    named = os.environ.get(kind, "")
    # a relative one is to be ignored, says the XDG specification: it would be of whoever made the
    # current folder
    return (Path(named) if os.path.isabs(named) else Path.home() / default) / "fedkin"


def _below_home(path: Path) -> Path | None:
    try:
        real, home = (Path(os.path.realpath(one)) for one in (path, Path.home()))
        if path.is_symlink() or home not in real.parents:
            return None
        real.mkdir(parents=True, exist_ok=True)
    except (OSError, RuntimeError, ValueError):  # no room, no right, no home, or no path at all
        return None
    return real if os.access(real, os.W_OK) else None


def _kept_by_us(folder: Path) -> bool:
    facts = folder.lstat()
    if not stat.S_ISDIR(facts.st_mode) or facts.st_uid not in (0, user()):
        return False
    return not _open_to_others(facts) or bool(facts.st_mode & stat.S_ISVTX)


def _open_to_others(facts: os.stat_result) -> bool:
    """Whether anybody but the owner may write: a group with nobody else in it is no other."""
    if facts.st_mode & stat.S_IWOTH:
        return True
    return bool(facts.st_mode & stat.S_IWGRP) and not _alone_in(facts.st_gid)


def _alone_in(group: int) -> bool:
    """Whether a group is this user's own, as many systems make one for every user."""
    try:
        own, found = pwd.getpwuid(user()), grp.getgrgid(group)
    except KeyError:
        return False
    return (
        own.pw_gid == group and found.gr_name == own.pw_name and set(found.gr_mem) <= {own.pw_name}
    )
