"""Files of machine code, kept from run to run in ``steps`` of fedkin's cache (``cache_folder``)."""

import atexit
import hashlib
import os
import platform
import shutil
import tempfile
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path

from filelock import FileLock

from fedkin.core.errors import FedkinError
from fedkin.core.files import write_file
from fedkin.core.settings.chosen import cache_folder
from fedkin.core.system.posix import POSIX
from fedkin.core.system.private import private_folder

INDUCTOR = "TORCHINDUCTOR_CACHE_DIR"  # torch reads it whenever it needs the folder
PATIENCE = 120.0  # seconds for another process to make the file: one that hangs holds nobody up
KEPT = 200  # files, a megabyte or two each; those that were not used for longest go first


def kept(name: str, make: Callable[[], Path]) -> Path:
    """The file of that name; one that ``make`` makes, and of which a copy is kept where there is
    room, if none is.

    Of processes that want the same one, the first makes it, and the others wait, but not for ever.

    Args:
        name: Of the file, without its digest and ending; it changes whenever the code would.
        make: Makes a file of machine code.

    Returns:
        The path of a file, which is whole.

    Raises:
        NotImplementedError: On Windows, for which no such file was ever made: torch works there.
    """
    if not POSIX:
        raise NotImplementedError("steps are not compiled on Windows")
    folder = _folder()
    if folder is None:
        return make()
    lock = FileLock(folder / f"{name}.lock")
    try:
        lock.acquire(timeout=PATIENCE)
    except (OSError, NotImplementedError):  # a file system without locks, or Timeout
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


def compiler_folder() -> Path:
    """Where Inductor keeps what it makes: not ``$TMPDIR/torchinductor_$USER``, which anybody may
    have made first.

    What lies there is loaded and run. The folder is named to Inductor by its own variable; one that
    is set already is left only if nobody else can write to it. Where there is no private place, a
    new one for this process alone.

    Returns:
        A folder that nobody else can write to.
    """
    from_environment = os.environ.get(INDUCTOR)
    if from_environment and _torchs_own(Path(from_environment)):
        from_environment = None  # torch put it there itself, when a step was recorded
    folder = (
        (None if not from_environment else private_folder(Path(from_environment).absolute()))
        or _private("inductor")
        or _of_this_process()
    )
    os.environ[INDUCTOR] = str(folder)
    return folder


def _torchs_own(path: Path) -> bool:
    """Whether it is the folder that torch chooses where nobody names one."""
    return path.parent == Path(tempfile.gettempdir()) and path.name.startswith("torchinductor_")


@cache
def _of_this_process() -> Path:
    folder = tempfile.mkdtemp(prefix="fedkin-inductor-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Path(folder)


def _folder() -> Path | None:
    """Where files are kept: a folder of this user's that nobody else may write to, for what is in
    it is run.
    """
    return _private("steps")


def _private(name: str) -> Path | None:
    try:
        return private_folder(cache_folder() / name)
    except (RuntimeError, FedkinError):  # nobody knows a home, or what it says
        return None


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]


@cache
def processor() -> str:
    """A digest of what this CPU is and can do: code made for one may stop on another.

    Returns:
        16 hexadecimal digits.
    """
    parts = [platform.processor(), platform.machine()]
    with suppress(OSError):
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        parts += sorted(
            {line for line in lines if line.startswith(("flags", "Features", "model name"))}
        )
    return _digest("\n".join(parts).encode())
