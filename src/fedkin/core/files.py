"""How a file is written, whoever writes it: whole or not at all; and how one is read that anybody
may have written.
"""

import errno
import os
import re
import stat
import time
from contextlib import suppress
from glob import escape
from pathlib import Path

from fedkin.core.errors import FEW, FedkinError, most_like
from fedkin.core.system.posix import FOLLOWS_NO_LINK, OPEN, POSIX, WAITS_FOR_NOBODY

LONGEST = 4096  # bytes of a path, as Linux has it
PART = 255  # bytes of one of its names
YOUNG = 60.0  # seconds for which what is written is nobody's leftover
NUMBER = re.compile(r"[1-9][0-9]{0,9}")  # of a process
STEP = 1 << 20  # bytes that are read at a time of a file that is longer than it said


def write_file(
    path: Path, content: bytes, durable: bool = True, links: bool = True, private: bool = False
) -> None:
    """Write, fsync, rename: a reader sees the old file or the whole new one. A link stays one: what
    it points at is written.

    Args:
        path: Its folder exists.
        content: All of the file.
        durable: Whether to wait until the disk has it, and its name.
        links: Whether ``path`` may be a link, as a file that a person named; if not, the new file
            takes the link's place.
        private: Whether only its owner can read it, from its first byte on.

    Raises:
        OSError: It cannot be written, or is what a rename would put an end to: a folder, a device,
            a pipe.
    """
    try:
        target = _target(path) if links else path
        # a worker that outlived its run may write here too
        part = target.with_name(f"{target.name}.{os.getpid()}.part")
        _put(part, target, content, 0o600 if private else 0o666, durable)
    except OSError as error:
        # of the file that was asked for
        raise OSError(error.errno, error.strerror, str(path)) from None


def remove_left_parts(path: Path) -> None:
    """Remove what killed processes left of a file that they were writing. A folder is listed for
    it: this is for files that a person asked for, not for thousands of states.

    Args:
        path: Of the file, as ``write_file`` is given it.
    """
    if not POSIX:  # there is no asking whether a process lives
        return
    with suppress(OSError):
        target = _target(path)
        for part in target.parent.glob(f"{escape(target.name)}.*.part"):
            if _abandoned(part, part.name[len(target.name) + 1 : -len(".part")]):
                part.unlink(missing_ok=True)


def _abandoned(part: Path, process: str) -> bool:
    """Whether a process of this number cannot be at work on a file. In a folder that several
    machines have it may be another one's: so nothing is that is young.
    """
    if not NUMBER.fullmatch(process) or time.time() - part.lstat().st_mtime < YOUNG:
        return False
    return not _lives(int(process))


def _lives(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):  # another user's, or no number of a process
        pass
    return True


def read_file(path: Path, most: int, links: bool = True) -> bytes:
    """The whole content of a file of at most so many bytes.

    Args:
        path: An ordinary file.
        most: Bytes; a larger file is refused before it is read.
        links: Whether ``path`` may be a link.

    Returns:
        Its bytes.

    Raises:
        OSError: it cannot be read, is larger, is a link, a folder, a device, or a pipe (which
            might never end).
    """
    if not links and path.is_symlink():
        raise OSError(errno.ELOOP, "it is a link", str(path))
    handle = os.open(
        path, os.O_RDONLY | OPEN | WAITS_FOR_NOBODY | (0 if links else FOLLOWS_NO_LINK)
    )
    try:
        facts = os.fstat(handle)
        if stat.S_ISDIR(facts.st_mode):
            raise OSError(errno.EISDIR, "it is a folder, not a file", str(path))
        if not stat.S_ISREG(facts.st_mode):
            raise OSError(errno.EINVAL, "it is a device or a pipe, not a file", str(path))
        if facts.st_size > most:
            raise OSError(errno.EFBIG, f"it is larger than {most:,} bytes", str(path))
        with open(handle, "rb", closefd=False) as file:
            content = file.read(facts.st_size + 1)
            # more than it said: it grew, or is one that the kernel makes up
            while len(content) <= most and (rest := file.read(min(STEP, most + 1 - len(content)))):
                content += rest
        if len(content) > most:
            raise OSError(errno.EFBIG, f"it is larger than {most:,} bytes", str(path))
        return content
    finally:
        os.close(handle)


def _target(path: Path) -> Path:
    """The file itself, where ``path`` is a link to it."""
    try:
        kind = os.stat(path).st_mode
    except FileNotFoundError:  # not there yet, nor is perhaps what a link points at
        kind = stat.S_IFREG
    if stat.S_ISDIR(kind):
        raise OSError(errno.EISDIR, "it is a folder, not a file")
    if not stat.S_ISREG(kind):
        raise OSError(errno.EINVAL, "it is a device or a pipe, not a file")
    return Path(os.path.realpath(path)) if path.is_symlink() else path


def write_secret(path: Path, content: bytes) -> None:
    """Write, fsync, rename a file that only its owner can read, from its first byte on.

    Args:
        path: Its folder exists.
        content: All of the file.

    Raises:
        OSError: It cannot be written; nothing of it stays.
    """
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    _put(part, path, content, 0o600)


def _put(part: Path, target: Path, content: bytes, mode: int, durable: bool = True) -> None:
    """Write a new file at ``part`` and rename it; nothing of it stays where that fails. What is
    there is of a process that was killed, or a stranger's: of a link the link alone goes.
    ``mode``: of the new one, before the umask.
    """
    try:
        part.unlink(missing_ok=True)
        handle = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | OPEN, mode)
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            if durable:
                file.flush()
                os.fsync(file.fileno())
        part.replace(target)
        if durable:
            sync_folder(target.parent)
    except OSError:
        with suppress(OSError):
            part.unlink(missing_ok=True)
        raise


def sync_folder(folder: Path) -> None:
    """Make renames in a folder durable, where the system can: Windows opens no folder.

    Args:
        folder: The folder, which is there.

    Raises:
        OSError: The disk failed.
    """
    if not POSIX:
        return
    try:
        handle = os.open(folder, os.O_RDONLY)
    except PermissionError:  # it may be written to, and not listed
        return
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno != errno.EINVAL:  # of a file system that syncs no folder
            raise
    finally:
        os.close(handle)


def typed_path(name: str | Path) -> Path:
    """The path that a person means.

    Args:
        name: As typed; ``~`` and ``~user`` stand for home folders where there is such a user.

    Returns:
        The path, which need not exist.

    Raises:
        FedkinError: No system holds such a name: it is too long, or has a zero byte.
    """
    text = os.path.expanduser(str(name))
    raw = text.encode("utf-8", "replace")
    if b"\0" in raw or len(raw) > LONGEST or any(len(part) > PART for part in raw.split(b"/")):
        raise FedkinError(f"{text[:40]!r}… is no path: a name has at most {PART} bytes, none zero")
    return Path(text)


def near_path(path: Path) -> str:
    """The hint at a file or folder that is there, where a path that is not has one name that is
    most like it; at quotes, where it is a setting; empty where nothing is.

    Args:
        path: Nothing is there.

    Returns:
        Words to put behind the path in a message.
    """
    # a shell makes two words of {a=1,b=2}, neither of which is a file's name
    if path.name.count("=") > 1:
        return ": quote a setting with braces, as in --set 'privacy.noise={epsilon=8,delta=1e-3}'"
    gone = path  # its part up to the first name that is not there
    while not os.path.lexists(gone.parent):
        gone = gone.parent
    try:
        names = os.listdir(gone.parent)[:FEW]
    except OSError:
        return ""
    # an ending that many files share makes none of them alike; a link to nowhere is like itself
    alike = [
        name for name in names if name != gone.name and most_like(Path(name).stem, [gone.stem])
    ]
    like = most_like(gone.name, alike)
    meant = gone.parent / like / path.relative_to(gone)
    return f": did you mean {str(meant)!r}?" if like and os.path.lexists(meant) else ""
