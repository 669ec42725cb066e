"""Data sets by name: where each one is looked for, and what is said when it is not there."""

import inspect
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from fedkin.core.errors import FedkinError, unknown
from fedkin.core.files import typed_path
from fedkin.core.settings.chosen import Setting, data_setting
from fedkin.data.arguments import check_arguments
from fedkin.data.arrays import images
from fedkin.data.formats.cifar import find_cifar, read_cifar
from fedkin.data.formats.idx import DIGITS, FASHION, find_idx, read_mnist_like
from fedkin.data.formats.memory import within_room
from fedkin.data.formats.npz import npz_names, read_npz
from fedkin.data.formats.text import FILES, shakespeare, stackoverflow
from fedkin.data.formats.user_files import is_path, only_known, read_own
from fedkin.data.source import Source, absent, classified
from fedkin.data.synthetic import linear_toy, synthetic_mixture

LOG = logging.getLogger("fedkin")
LETTERS = (*DIGITS, *"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")
ACTIVITIES = ("walking", "walking upstairs", "walking downstairs", "sitting", "standing", "lying")


def load(
    name: str,
    dir: Path | str | None = None,
    *,
    client: str | None = None,
    label: str | None = None,
    **params: Any,
) -> Source:
    """A data set by name (see ``SOURCES``), by the name of an .npz file in the data folder, or by
    path (``own``).

    dir: the data folder; None takes the environment variable FEDKIN_DATA. client, label: column
    names of tables. params: arguments of the generated sets (``clients=30``, ``seed=1``), of texts
    (``length=40``), or of the importer of a path (``task=``, ``scale=``, …). Raises FedkinError in
    one sentence for an unknown name, a missing or a damaged file.

    Args:
        name: Of a data set, a file in the data folder, or a path.
        dir: The data folder.
        client: The column that names each row's client.
        label: The column to predict.
        params: Arguments of the data set's reader.

    Returns:
        All samples, checked.

    Raises:
        FedkinError: A name that does not exist, or data that cannot be read.
    """
    folder = data_folder(dir)
    columns = {
        key: value for key, value in (("client", client), ("label", label)) if value is not None
    }
    if is_path(name):
        return read_own(name, folder, {**columns, **params})
    if columns:
        raise FedkinError(
            f"data set {name!r} has no columns to choose: leave out data.{next(iter(columns))}"
        )
    if name in SOURCES:
        reader = SOURCES[name]
        known = set(inspect.signature(reader).parameters)
        only_known(params, known - {"dir"}, f"data set {name!r}")
        check_arguments(reader, params, "data", name)
        if "dir" not in known:
            return reader(**params)
        with within_room(name):
            return reader(folder, **params)
    check_name(name, dir)
    assert folder is not None  # the name is that of a file in it
    only_known(params, set(), "an .npz file")
    with within_room(name):
        return read_npz(folder / f"{name}.npz", name)


def check_name(name: str, dir: Path | str | None = None) -> None:
    """Raises FedkinError where ``load`` would not know the name; whether a named file is there is
    not asked.

    Args:
        name: The value of data.name.
        dir: The data folder.

    Raises:
        FedkinError: Names the nearest data set that exists.
    """
    if name in SOURCES or is_path(name):
        return
    folder = data_folder(dir)
    found = npz_names(folder) if folder else []
    if "/" in name:
        raise FedkinError(
            f"{name} does not exist: check the path of the folder, or name a file in it"
        )
    if name not in found:
        raise unknown("data set", name, {*SOURCES, *found})


def as_typed(name: str | Path) -> str:
    """A data set as it is typed: where its bare name is that of a folder, with the slash that makes
    it one's path.

    Args:
        name: The value of data.name.

    Returns:
        What ``is_path`` takes for a path where it is one.
    """
    name = str(name)
    bare = name and not is_path(name) and name not in SOURCES and typed_path(name).is_dir()
    return f"{name}/" if bare else name


def located(name: str) -> str:
    """The whole path of one's own file or folder that is there; any other name as is.

    Args:
        name: The value of data.name.

    Returns:
        What means the same in any folder, and in run.db.
    """
    path = typed_path(name)
    return whole(path) if is_path(name) and path.exists() else name


def whole(path: Path) -> str:
    """From the root on, without "..": links stay as they are, but for those that one goes back
    over.

    Args:
        path: It may be relative.

    Returns:
        An absolute path.
    """
    return str(path.resolve() if ".." in path.parts else path.absolute())


def data_folder(dir: Path | str | None) -> Path | None:
    """The folder with the data: the argument, else FEDKIN_DATA or .fedkin.toml, else None.

    Args:
        dir: What --data-dir names.

    Returns:
        A folder that is there.

    Raises:
        FedkinError: What is named is no folder.
    """
    chosen = Setting(Path(dir), "--data-dir") if dir is not None else data_setting()
    if chosen is None:
        return None
    folder, whence = typed_path(chosen.folder), chosen.whence
    if not folder.is_dir():
        raise FedkinError(
            f"{whence} names {folder}, which is not a folder: name the folder that holds the "
            "data files"
        )
    LOG.debug("data folder %s, from %s", folder, whence)
    return folder


def digits(dir: Path | None = None) -> Source:
    """Scikit-learn's 1,797 handwritten digits, uint8 [1797,1,8,8]; its 0..16 are scaled to 0..255.
    Needs no file.

    Args:
        dir: Not used.

    Returns:
        10 classes; no official test set.
    """
    from sklearn.datasets import load_digits

    x, y = load_digits(return_X_y=True)
    pixels = np.rint(x / 16 * 255).astype(np.uint8).reshape(-1, 8, 8)
    return classified(
        "digits", images(pixels), y.astype(np.int64), where="digits", class_names=DIGITS
    )


def mnist(dir: Path | None = None) -> Source:
    """MNIST uint8 [70000,1,28,28], the last 10,000 official test: mnist.npz or the four
    IDX files.

    Args:
        dir: The data folder.

    Returns:
        10 classes.
    """
    return _mnist_like("mnist", dir, DIGITS)


def fashion_mnist(dir: Path | None = None) -> Source:
    """Fashion-MNIST uint8 [70000,1,28,28], the last 10,000 official test: fashion_mnist.npz or the
    four IDX files.

    Args:
        dir: The data folder.

    Returns:
        10 classes, with names.
    """
    return _mnist_like("fashion_mnist", dir, FASHION)


def cifar10(dir: Path | None = None) -> Source:
    """CIFAR-10 uint8 [60000,3,32,32], the last 10,000 official test: cifar10.npz or the binary
    version.

    Args:
        dir: The data folder.

    Returns:
        10 classes.
    """
    return _cifar("cifar10", dir)


def cifar100(dir: Path | None = None) -> Source:
    """CIFAR-100 (fine labels) uint8 [60000,3,32,32], the last 10,000 official test: cifar100.npz or
    the binary one.

    Args:
        dir: The data folder.

    Returns:
        100 classes.
    """
    return _cifar("cifar100", dir)


def cifar100_12k(dir: Path | None = None) -> Source:
    """10,000 train and 2,000 test images of CIFAR-100, uint8 [12000,3,32,32]: cifar100_12k.npz.

    Args:
        dir: The data folder.

    Returns:
        100 classes.
    """
    return read_npz(_npz("cifar100_12k", dir), "cifar100_12k", classes=100)


def femnist(dir: Path | None = None) -> Source:
    """FEMNIST, uint8 [n,1,28,28], 62 classes, writers as natural clients, official test rows per
    writer.

    Args:
        dir: The data folder.

    Returns:
        Digits, capital and small letters.
    """
    return read_npz(_npz("femnist", dir), "femnist", classes=62, class_names=LETTERS)


def femnist_extra(dir: Path | None = None) -> Source:
    """The FEMNIST writers of femnist.npz that ``femnist`` leaves out: clients who join later. No
    official test.

    Args:
        dir: The data folder.

    Returns:
        The classes of ``femnist``.
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


def _mnist_like(name: str, dir: Path | None, class_names: tuple[str, ...]) -> Source:
    if dir is not None and (dir / f"{name}.npz").is_file():
        return read_npz(dir / f"{name}.npz", name, classes=10, class_names=class_names)
    files = find_idx([dir / name, dir]) if dir is not None else None
    if files is None:
        raise absent(
            name,
            file_of(name),
            dir,
            f"the four IDX files (train-images-idx3-ubyte.gz, …) into its folder {name}",
        )
    return read_mnist_like(name, files, class_names)


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
