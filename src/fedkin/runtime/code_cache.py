"""Files of machine code, kept from run to run: ``$XDG_CACHE_HOME/fedkin/steps``, or ``~/.cache`` in
its place.
"""

import hashlib
import os
import platform
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path

from filelock import FileLock

from fedkin.core.files import write_file

KEPT = 200  # files, a megabyte or two each; those that were not used for longest go first


def kept(name: str, make: Callable[[], Path]) -> Path:
    """The file of that name; one that ``make`` makes, and of which a copy is kept where there is
    room, if none is.

    Of processes that want the same one, the first makes it, and the others wait.
    """
    folder = _folder()
    if folder is None:
        return make()
    lock = FileLock(folder / f"{name}.lock")
    try:
        lock.acquire()
    except (OSError, NotImplementedError):  # a file system without locks
        return make()
    try:
        return _found(folder, name) or _copied(folder, name, make())
    finally:
        lock.release()


def _found(folder: Path, name: str) -> Path | None:
    for path in folder.glob(f"{name}-*.so"):
        with suppress(FileNotFoundError):  # tidied away by another process at this moment
            if path.stem == f"{name}-{_digest(path.read_bytes())}":
                os.utime(path)
                return path
            path.unlink()  # not as it was written: calling it could do anything
    return None


def _copied(folder: Path, name: str, source: Path) -> Path:
    content = source.read_bytes()
    path = folder / f"{name}-{_digest(content)}.so"
    try:
        write_file(path, content)
    except OSError:
        return source
    _tidy(folder)
    return path


def _tidy(folder: Path) -> None:
    """Another process may do the same, and be first."""
    ages: dict[Path, float] = {}
    for path in folder.glob("*.so"):
        with suppress(FileNotFoundError):
            ages[path] = path.stat().st_mtime
    for path in sorted(ages, key=lambda path: ages[path])[:-KEPT]:
        path.unlink(missing_ok=True)
        (folder / f"{path.stem.split('-')[0]}.lock").unlink(missing_ok=True)


def _folder() -> Path | None:
    """Where files are kept: a folder of this user's that nobody else may write to, for what is in
    it is run.
    """
    try:
        home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
        folder = Path(home) / "fedkin" / "steps"
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        facts = folder.stat()
    except (OSError, RuntimeError):  # the latter where nobody knows a home
        return None
    own = facts.st_uid == os.getuid() and not facts.st_mode & 0o022
    return folder if own and os.access(folder, os.W_OK) else None


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]


@cache
def processor() -> str:
    """A digest of what this CPU is and can do: code made for one may stop on another."""
    told = [platform.processor(), platform.machine()]
    with suppress(OSError):
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        told += sorted(
            {line for line in lines if line.startswith(("flags", "Features", "model name"))}
        )
    return _digest("\n".join(told).encode())
