"""How a file is written, whoever writes it: whole or not at all."""

import errno
import os
import stat
from contextlib import suppress
from pathlib import Path


def write_file(path: Path, content: bytes, durable: bool = True) -> None:
    """Write, fsync, rename: a reader sees the old file or the whole new one. A link stays one: what
    it points at is written. Raises OSError, also for what a rename would put an end to: a folder, a
    device, a pipe.
    """
    try:
        target = _target(path)
        # a worker that outlived its run may write here too
        part = target.with_name(f"{target.name}.{os.getpid()}.part")
        try:
            with open(part, "wb") as file:
                file.write(content)
                if durable:
                    file.flush()
                    os.fsync(file.fileno())
            part.replace(target)
        except OSError:
            with suppress(OSError):
                part.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise OSError(
            error.errno, error.strerror, str(path)
        ) from None  # of the file that was asked for


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
