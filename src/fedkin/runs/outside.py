"""Files that a user names: pages, tables, figures. They never take the place of a run's
own files.
"""

import os
from contextlib import suppress
from pathlib import Path

from fedkin.core.errors import FedkinError
from fedkin.core.files import write_file
from fedkin.runs.directory import LOCK, RECORD, states_of

STUDY = "study.db"  # of a sweep
MARKS = (RECORD, LOCK, STUDY)  # a folder with one of them is a run's, or a sweep's
# what is read again: by a resumed run, a search, a preset, or of a model that was exported or has
# joined
OWN = (".db", ".db-journal", ".toml", ".lock", ".json", ".safetensors", ".npy", ".pt2", ".onnx")
OUTPUT = (1, 2)  # the descriptors of this process's output


def write_outside(path: Path, content: str | bytes) -> Path:
    """Write a file that was asked for by its path, in place of an old one only when it is whole,
    and return the path. Raises FedkinError where that cannot be done, and for what is a run's own.
    """
    try:
        _refuse(path)
        write_file(path, content.encode() if isinstance(content, str) else content)
    except OSError as error:
        raise FedkinError(f"{path} cannot be written: {error.strerror}") from None
    return path


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


def owner(real: Path) -> Path | None:
    """The run directory, or the sweep's, that a file is a part of; None for new files, and for what
    a user keeps there: a page, a table, a figure.
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
