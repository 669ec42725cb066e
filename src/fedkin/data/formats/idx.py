"""The IDX files of MNIST and Fashion-MNIST, as published, plain or gzipped."""

import gzip
import math
import zlib
from pathlib import Path

import numpy as np

from fedkin.core.errors import FedkinError
from fedkin.data.arrays import Array, images
from fedkin.data.source import Source, classified

STEMS = {
    "x_train": ("train-images", 3),
    "y_train": ("train-labels", 1),
    "x_test": ("t10k-images", 3),
    "y_test": ("t10k-labels", 1),
}
DIGITS = tuple("0123456789")
FASHION = (
    "T-shirt/top",
    "Trouser",
    "Pullover",
    "Dress",
    "Coat",
    "Sandal",
    "Shirt",
    "Sneaker",
    "Bag",
    "Ankle boot",
)


def read_idx(path: Path) -> Array:
    """The uint8 array in one IDX file (.gz or plain), shaped as its header says.

    Y. LeCun's format: two zero bytes, type 0x08, number of dimensions, big-endian sizes, bytes.

    Args:
        path: One file.

    Returns:
        uint8, of one to four axes.

    Raises:
        FedkinError: The magic number, the dimensions or the length do not fit.
    """
    raw = _bytes(path)
    if len(raw) < 4 or raw[:3] != b"\x00\x00\x08" or not 1 <= raw[3] <= 4:
        raise FedkinError(
            f"{path} is not an IDX file of bytes (wrong magic number): download it again"
        )
    head = 4 + 4 * raw[3]
    shape = tuple(int.from_bytes(raw[at : at + 4], "big") for at in range(4, head, 4))
    if len(raw) - head != math.prod(shape):
        raise FedkinError(
            f"{path} is damaged: its header says {shape}, but {max(len(raw) - head, 0)} bytes "
            "follow"
        )
    return np.frombuffer(raw, np.uint8, offset=head).reshape(shape)


def find_idx(folders: list[Path]) -> dict[str, Path] | None:
    """The four official files in the first folder that holds any of them; None where no folder
    does.

    Args:
        folders: Where to look, in this order.

    Returns:
        "x_train", "y_train", "x_test", "y_test" → file.

    Raises:
        FedkinError: A folder holds some of the four; names those that are missing.
    """
    for folder in folders:
        files = {key: _find(folder, stem, dims) for key, (stem, dims) in STEMS.items()}
        missing = [
            f"{STEMS[key][0]}-idx{STEMS[key][1]}-ubyte.gz"
            for key, path in files.items()
            if path is None
        ]
        if len(missing) < len(STEMS):
            if missing:
                raise FedkinError(
                    f"{folder} lacks {', '.join(missing)}: put all four IDX files there"
                )
            return {key: path for key, path in files.items() if path is not None}
    return None


def read_mnist_like(name: str, files: dict[str, Path], class_names: tuple[str, ...]) -> Source:
    """A Source [n,1,h,w] from four IDX files; the t10k rows are the official test set.

    Args:
        name: Of the data set.
        files: As ``find_idx`` finds them.
        class_names: In the order of the labels.

    Returns:
        uint8, training rows first.

    Raises:
        FedkinError: Images and labels do not fit each other.
    """
    part = {key: read_idx(path) for key, path in files.items()}
    for split in ("train", "test"):
        x, y = part[f"x_{split}"], part[f"y_{split}"]
        if x.ndim != 3 or y.ndim != 1 or len(x) != len(y):
            raise FedkinError(
                f"{files[f'x_{split}']} has shape {x.shape} and {files[f'y_{split}'].name} "
                f"has {y.shape}: "
                "they must hold as many images as labels"
            )
    if part["x_train"].shape[1:] != part["x_test"].shape[1:]:
        raise FedkinError(f"{files['x_train'].parent}: train and test images differ in size")
    return classified(
        name,
        images(np.concatenate([part["x_train"], part["x_test"]])),
        np.concatenate([part["y_train"], part["y_test"]]),
        where=str(files["x_train"].parent),
        class_names=class_names,
        official_test=np.repeat([False, True], [len(part["y_train"]), len(part["y_test"])]),
    )


def _find(folder: Path, stem: str, dims: int) -> Path | None:
    names = [f"{stem}{dash}idx{dims}-ubyte{gz}" for dash in "-." for gz in ("", ".gz")]
    return next((folder / name for name in names if (folder / name).is_file()), None)


def _bytes(path: Path) -> bytes:
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            return file.read()
    except (gzip.BadGzipFile, EOFError, zlib.error):
        raise FedkinError(f"{path} is damaged or cut short: download it again") from None
    except OSError as error:
        raise FedkinError(f"{path} cannot be read: {error.strerror}") from None
