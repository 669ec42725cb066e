"""Files that a user names: pages, tables, figures. They never take the place of a run's
own files.
"""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from fedkin.core.errors import FedkinError
from fedkin.core.files import remove_left_parts, write_file
from fedkin.runs.directory import LOCK, RECORD, recorded, states_of

STUDY = "study.db"  # of a sweep
MARKS = (RECORD, LOCK, STUDY)  # a folder with one of them is a run's, or a sweep's
# what is read again: by a resumed run, a search, a preset, or of a model that was exported or has
# joined
OWN = (".db", ".db-journal", ".toml", ".lock", ".json", ".safetensors", ".npy", ".pt2", ".onnx")
OUTPUT = (1, 2)  # the descriptors of this process's output
PAGES, MARKDOWN, EXPERIMENTS = (".html", ".htm"), (".md", ".markdown", ".txt"), (".toml",)
TABLES = (".csv", ".tsv", ".txt")
LATEX = (".tex",)


def write_outside(
    path: Path,
    content: str | bytes,
    instead_of: Sequence[str] = (),
    inputs: Sequence[Path] = (),
) -> Path:
    """Write a file that was asked for by its path, in place of an old one only when it is whole.

    Args:
        path: As the user typed it.
        content: Of the file.
        instead_of: Endings of files that may be replaced; () allows all.
        inputs: Files that the command has read, and folders, of which nothing is replaced.

    Returns:
        ``path``, which now has the new content.

    Raises:
        FedkinError: It cannot be written, is a run's own, an input, or of another kind.
    """
    try:
        _refuse(path)
        _keep(path, instead_of, inputs)
        remove_left_parts(path)
        write_file(path, as_bytes(content) if isinstance(content, str) else content)
    except OSError as error:
        folder = Path(path).parent
        gone = "" if folder.exists() else f": make the folder {folder} first"
        raise FedkinError(f"{path} cannot be written: {error.strerror}{gone}") from None
    return path


def make_folder(folder: Path) -> None:
    """Make a folder that was asked for by its path, where it is not there.

    Args:
        folder: As the user typed it.

    Raises:
        FedkinError: It cannot be made, or a part of its path is a file.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        file = next((part for part in (folder, *folder.parents) if os.path.isfile(part)), None)
        why = error.strerror if file is None else f"{file} is a file"
        raise FedkinError(f"{folder} cannot be made: {why}: choose another folder") from None


@contextmanager
def no_empty_folder(folder: Path) -> Iterator[None]:
    """Where what is done inside fails, nothing stays of the folders that it made on the way to
    ``folder``, unless they hold something.

    Args:
        folder: Which need not be there, and is not made here.

    Yields:
        Nothing: the work is inside the ``with``.
    """
    new = [part for part in (folder, *folder.parents) if not os.path.lexists(part)]
    try:
        yield
    except BaseException:
        with suppress(OSError):  # the first one that holds anything stays, and those around it
            for part in new:
                if part.exists():
                    part.rmdir()
        raise


def check_takes_files(folder: Path) -> None:
    """Refuse a folder that takes no file, before the work whose result goes there.

    Args:
        folder: As the user typed it; of one that is not there nothing is said.

    Raises:
        FedkinError: Its rights, or those of its file system, allow no new file.
    """
    if folder.is_dir() and not os.access(folder, os.W_OK | os.X_OK):
        raise FedkinError(
            f"{folder} is read-only or another user's, and takes no file: copy it to a folder of "
            "your own"
        )


def outside_run_states(folder: Path) -> Path:
    """The same, unless it is among the states of a run, which removes there what is none.

    Args:
        folder: As the user typed it; it need not be there.

    Returns:
        ``folder``.

    Raises:
        FedkinError: It is.
    """
    real = Path(os.path.realpath(folder))
    for part in (real, *real.parents):
        if recorded(part.parent) and part == states_of(part.parent):
            raise FedkinError(
                f"{folder} is among the states of {part.parent}, where a resumed run removes what "
                "is none: choose another --out"
            )
    return folder


def as_bytes(text: str) -> bytes:
    """A page's text as UTF-8: the name of a folder in it may be no text, and is written as Python
    shows it.

    Args:
        text: Of any origin.

    Returns:
        UTF-8.
    """
    return text.encode("utf-8", "backslashreplace")


def _refuse(path: Path) -> None:
    real = Path(os.path.realpath(path))
    if (run := owner(real)) is not None:
        raise FedkinError(
            f"{path} cannot be written: it is a file of {run} itself, choose another name"
        )
    if any(_same(real, number) for number in OUTPUT):
        raise FedkinError(
            f"{path} cannot be written: the output of this command goes there, choose another name"
        )


def _keep(path: Path, instead_of: Sequence[str], inputs: Sequence[Path]) -> None:
    """Refuse to replace what the user may have nowhere else."""
    if not path.is_file():
        return
    if any(_within(path, one) for one in inputs):
        raise FedkinError(f"{path} is what this command reads: choose another name to write to")
    if instead_of and path.suffix and path.suffix.lower() not in instead_of:
        raise FedkinError(
            f"{path} is there already, and is no {instead_of[0]} file: choose another name"
        )


def _within(path: Path, read: Path) -> bool:
    """Whether a file is one that was read, or in a folder that was."""
    if read.is_dir():
        return read.resolve() in path.resolve().parents
    return read.is_file() and path.samefile(read)


def owner(real: Path) -> Path | None:
    """The run directory, or the sweep's, that a file is a part of; None for new files, and for what
    a user keeps there: a page, a table, a figure.

    Args:
        real: The whole path of a file, links followed.

    Returns:
        The folder, or None.
    """
    for folder in real.parents:
        if any((folder / name).is_file() for name in MARKS):
            inside = states_of(folder) in real.parents  # where all is removed that no record names
            if inside or (real.is_file() and real.suffix in OWN):
                return folder
    return None


def _same(path: Path, descriptor: int) -> bool:
    """Whether a file is what a descriptor writes to: a rename would take it away from the writer. A
    device is shown as one.
    """
    with suppress(OSError):  # no file yet, or a descriptor that is closed
        return path.is_file() and os.path.samestat(path.stat(), os.fstat(descriptor))
    return False
