"""The official binary versions of CIFAR-10 and CIFAR-100."""

from pathlib import Path
from typing import NamedTuple

import numpy as np

from fedkin.core.errors import FedkinError
from fedkin.data.arrays import Array
from fedkin.data.source import Source, classified

PIXELS = 3 * 32 * 32


class Layout(NamedTuple):
    """Where one CIFAR keeps what: file names, label bytes a record, which of them is the label."""

    folder: str
    train: tuple[str, ...]
    test: str
    label_bytes: int
    names: str
    classes: int


LAYOUTS = {
    "cifar10": Layout(
        "cifar-10-batches-bin",
        tuple(f"data_batch_{i}.bin" for i in range(1, 6)),
        "test_batch.bin",
        1,
        "batches.meta.txt",
        10,
    ),
    "cifar100": Layout(
        "cifar-100-binary", ("train.bin",), "test.bin", 2, "fine_label_names.txt", 100
    ),
}


def find_cifar(name: str, folders: list[Path]) -> Path | None:
    """The first folder (or its official sub-folder) that holds any of the files; all must then be
    there.

    Args:
        name: "cifar10" or "cifar100".
        folders: Where to look, in this order.

    Returns:
        The folder; None where none holds any of the files.

    Raises:
        FedkinError: A folder holds some of the files; names those that are missing.
    """
    layout = LAYOUTS[name]
    for folder in [inner for outer in folders for inner in (outer, outer / layout.folder)]:
        missing = [file for file in (*layout.train, layout.test) if not (folder / file).is_file()]
        if len(missing) <= len(layout.train):
            if missing:
                raise FedkinError(
                    f"{folder} lacks {', '.join(missing)}: put all files of the binary "
                    "version there"
                )
            return folder
    return None


def read_cifar(name: str, folder: Path) -> Source:
    """A Source uint8 [n,3,32,32] in the official order; CIFAR-100 uses the fine labels.

    Args:
        name: "cifar10" or "cifar100".
        folder: It holds the binary version.

    Returns:
        Its last 10,000 rows are the official test set.
    """
    layout = LAYOUTS[name]
    parts = [_records(folder / file, layout.label_bytes) for file in (*layout.train, layout.test)]
    rows = np.concatenate(parts)
    names = folder / layout.names
    lines = names.read_text(encoding="utf-8", errors="replace").split() if names.is_file() else []
    return classified(
        name,
        rows[:, layout.label_bytes :].reshape(-1, 3, 32, 32),
        rows[:, layout.label_bytes - 1],
        where=str(folder),
        classes=layout.classes,
        class_names=tuple(lines) if len(lines) == layout.classes else (),
        official_test=np.arange(len(rows)) >= len(rows) - len(parts[-1]),
    )


def _records(path: Path, label_bytes: int) -> Array:
    raw = np.fromfile(path, np.uint8)
    record = PIXELS + label_bytes
    if len(raw) == 0 or len(raw) % record:
        raise FedkinError(
            f"{path} is damaged: {len(raw)} bytes are not a whole number of {record}-byte records"
        )
    return raw.reshape(-1, record)
