"""The data sets that have names, and the file that each is read from.

Apart from ``sources.py``, which also reads one's own tables: what only lists data sets needs
no pandas.
"""

from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import numpy.typing as npt

from fedkin.core.errors import FedkinError
from fedkin.data.arrays import images
from fedkin.data.formats.cifar import find_cifar, read_cifar
from fedkin.data.formats.idx import DIGITS, FASHION, find_idx, read_mnist_like
from fedkin.data.formats.npz import read_npz
from fedkin.data.formats.text import FILES, shakespeare, stackoverflow
from fedkin.data.pictures import prepared
from fedkin.data.source import Source, absent, classified
from fedkin.data.synthetic import linear_toy, synthetic_mixture

__all__ = [
    "SOURCES",
    "cifar10",
    "cifar100",
    "cifar100_12k",
    "digits",
    "fashion_mnist",
    "femnist",
    "femnist_extra",
    "file_of",
    "har",
    "mnist",
]

LETTERS = (*DIGITS, *"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")
ACTIVITIES = ("walking", "walking upstairs", "walking downstairs", "sitting", "standing", "lying")


def digits(dir: Path | None = None) -> Source:
    """Scikit-learn's 1,797 handwritten digits, uint8 [1797,1,8,8]; its 0..16 are scaled to 0..255.
    Needs no file.

    Args:
        dir: Not used.

    Returns:
        10 classes; no official test set.
    """
    x, y = _read_digits()
    pixels = np.rint(x / 16 * 255).astype(np.uint8).reshape(-1, 8, 8)
    return classified(
        "digits", images(pixels), y.astype(np.int64), where="digits", class_names=DIGITS
    )


@cache
def _read_digits() -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]:
    """Scikit-learn parses a text of 1,797 lines: once a process is enough."""
    from sklearn.datasets import load_digits

    x, y = load_digits(return_X_y=True)
    x.setflags(write=False)
    y.setflags(write=False)
    return x, y


def mnist(dir: Path | None = None, *, pixels: str = "bytes", augment: str = "none") -> Source:
    """MNIST uint8 [70000,1,28,28], the last 10,000 official test: mnist.npz or the four
    IDX files.

    Args:
        dir: The data folder.
        pixels: "bytes", or "standardized": float32, as pFedMe's public generator has them.
        augment: "none", or "crop_flip": every picture moved and mirrored once, as PersFL's second
            data split has them.

    Returns:
        A Source: uint8 pictures 0..255 (float32 where standardized), labels 0..9.

    Raises:
        FedkinError: The file is not there, or ``pixels`` or ``augment`` is not known.
    """
    return _mnist_like("mnist", dir, DIGITS, pixels, augment)


def fashion_mnist(
    dir: Path | None = None, *, pixels: str = "bytes", augment: str = "none"
) -> Source:
    """Fashion-MNIST uint8 [70000,1,28,28], the last 10,000 official test: fashion_mnist.npz or the
    four IDX files.

    Args:
        dir: The data folder.
        pixels: "bytes" or "standardized", as of ``mnist``.
        augment: "none" or "crop_flip", as of ``mnist``.

    Returns:
        10 classes, with names.

    Raises:
        FedkinError: The file is not there, or ``pixels`` or ``augment`` is not known.
    """
    return _mnist_like("fashion_mnist", dir, FASHION, pixels, augment)


def cifar10(dir: Path | None = None, *, augment: str = "none") -> Source:
    """CIFAR-10 uint8 [60000,3,32,32], the last 10,000 official test: cifar10.npz or the binary
    version.

    Args:
        dir: The data folder.
        augment: "none" or "crop_flip", as of ``mnist``.

    Returns:
        A Source: uint8 pictures 0..255, labels 0..9.

    Raises:
        FedkinError: The file is not there, or ``augment`` is not known.
    """
    source = _cifar("cifar10", dir)
    return source._replace(x=prepared(source.x, "cifar10", augment=augment))


def cifar100(dir: Path | None = None) -> Source:
    """CIFAR-100 (fine labels) uint8 [60000,3,32,32], the last 10,000 official test: cifar100.npz or
    the binary one.

    Args:
        dir: The data folder.

    Returns:
        A Source: uint8 pictures 0..255, labels 0..99.

    Raises:
        FedkinError: The file is not there, or damaged.
    """
    return _cifar("cifar100", dir)


def cifar100_12k(dir: Path | None = None) -> Source:
    """10,000 train and 2,000 test images of CIFAR-100, uint8 [12000,3,32,32]: cifar100_12k.npz.

    Args:
        dir: The data folder.

    Returns:
        A Source: uint8 pictures 0..255, labels 0..99.

    Raises:
        FedkinError: The file is not there, or damaged.
    """
    return read_npz(_npz("cifar100_12k", dir), "cifar100_12k", classes=100)


def femnist(dir: Path | None = None) -> Source:
    """FEMNIST, uint8 [n,1,28,28], 62 classes, writers as natural clients, official test rows per
    writer.

    Args:
        dir: The data folder.

    Returns:
        Digits, capital and small letters.

    Raises:
        FedkinError: The file is not there, or damaged.
    """
    return read_npz(_npz("femnist", dir), "femnist", classes=62, class_names=LETTERS)


def femnist_extra(dir: Path | None = None) -> Source:
    """The FEMNIST writers of femnist.npz that ``femnist`` leaves out: clients who join later. No
    official test.

    Args:
        dir: The data folder.

    Returns:
        The classes of ``femnist``.

    Raises:
        FedkinError: The file is not there, or damaged.
    """
    path = _npz("femnist", dir)
    return read_npz(path, "femnist_extra", classes=62, class_names=LETTERS, parts=("extra",))


def har(dir: Path | None = None) -> Source:
    """UCI HAR, float32 [n, 9 channels, 128 samples], 6 activities, 30 subjects as natural clients.

    ``truth["bout"]`` [n] numbers the unbroken recordings. Windows of one bout overlap by half, and
    ``group`` says so.

    Args:
        dir: The data folder.

    Returns:
        The group is "bout".

    Raises:
        FedkinError: The file is missing, damaged, or holds other windows.
    """
    path = _npz("har", dir)
    source = read_npz(path, "har", classes=6, class_names=ACTIVITIES)
    if source.x.shape[1:] != (128, 9):
        raise FedkinError(
            f"{path}: x has shape {source.x.shape}: it needs [n, 128, 9] (time, channel)"
        )
    return source._replace(x=np.ascontiguousarray(source.x.transpose(0, 2, 1)), group="bout")


# Readers take the data folder; generators take only parameters.
SOURCES: dict[str, Callable[..., Source]] = {
    "digits": digits,
    "mnist": mnist,
    "fashion_mnist": fashion_mnist,
    "cifar10": cifar10,
    "cifar100": cifar100,
    "cifar100_12k": cifar100_12k,
    "femnist": femnist,
    "femnist_extra": femnist_extra,
    "har": har,
    "shakespeare": shakespeare,
    "stackoverflow": stackoverflow,
    "synthetic_mixture": synthetic_mixture,
    "linear_toy": linear_toy,
}


def _mnist_like(
    name: str, dir: Path | None, class_names: tuple[str, ...], pixels: str, augment: str
) -> Source:
    if dir is not None and (dir / f"{name}.npz").is_file():
        source = read_npz(dir / f"{name}.npz", name, classes=10, class_names=class_names)
    else:
        files = find_idx([dir / name, dir]) if dir is not None else None
        if files is None:
            raise absent(
                name,
                file_of(name),
                dir,
                f"the four IDX files (train-images-idx3-ubyte.gz, …) into its folder {name}",
            )
        source = read_mnist_like(name, files, class_names)
    return source._replace(x=prepared(source.x, name, pixels, augment))


def _cifar(name: str, dir: Path | None) -> Source:
    if dir is not None and (dir / f"{name}.npz").is_file():
        return read_npz(dir / f"{name}.npz", name, classes=100 if name == "cifar100" else 10)
    folder = find_cifar(name, [dir / name, dir]) if dir is not None else None
    if folder is None:
        raise absent(
            name,
            file_of(name),
            dir,
            "the .bin files of the official binary version into its folder " + name,
        )
    return read_cifar(name, folder)


def _npz(name: str, dir: Path | None) -> Path:
    if dir is None or not (dir / file_of(name)).is_file():
        raise absent(name.removesuffix("_extra"), file_of(name), dir)
    return dir / file_of(name)


def file_of(name: str) -> str:
    """The one file that holds a data set, in the data folder.

    Args:
        name: A key of SOURCES.

    Returns:
        Its name, without a folder.
    """
    return FILES.get(name, f"{name.removesuffix('_extra')}.npz")
