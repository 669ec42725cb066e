"""Data sets by name or by path: where each one is looked for, and what is said when it is
not there.
"""

import inspect
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fedkin.core.errors import FedkinError, cut, first_line, unknown
from fedkin.core.files import near_path, typed_path
from fedkin.data.arguments import check_arguments
from fedkin.data.folder import data_folder
from fedkin.data.formats.images import ENDINGS
from fedkin.data.formats.memory import within_room
from fedkin.data.formats.npz import npz_names, read_npz
from fedkin.data.formats.user_files import FILES, is_path, only_known, read_own
from fedkin.data.named_sets import SOURCES
from fedkin.data.source import Source

__all__ = ["as_typed", "check_name", "load", "located", "whole"]

ARRAYS = (".npy", ".h5", ".hdf5", ".mat", ".pt", ".pth", ".pkl", ".pickle")  # of other programs
ARRAYS_AS = 'save its arrays with numpy.savez("data.npz", x=…, y=…), and client=… of each row'
ROWS_AS = "save it as .csv, which every spreadsheet and database can"
PICTURES_AS = "name the folder that has all images, sorted into CLIENT/CLASS/image"


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
    (``length=40``), or of the importer of a path (``task=``, ``scale=``, …).

    Args:
        name: Of a data set, a file in the data folder, or a path.
        dir: The data folder.
        client: The column that names each row's client.
        label: The column to predict.
        params: Arguments of the data set's reader.

    Returns:
        All samples, checked.

    Raises:
        FedkinError: A name that does not exist, or a missing or damaged file.
    """
    folder = data_folder(dir)
    columns = {
        key: value for key, value in (("client", client), ("label", label)) if value is not None
    }
    if is_path(name):
        return read_own(name, folder, {**columns, **params})
    check_name(name, dir)
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
            return _generated(name, reader, params)
        with within_room(name):
            return reader(folder, **params)
    assert folder is not None  # the name is that of a file in it
    only_known(params, set(), "an .npz file")
    with within_room(name):
        return read_npz(folder / f"{name}.npz", name, own=True)


def _generated(name: str, reader: Callable[..., Source], params: dict[str, Any]) -> Source:
    """A data set that is made here, of whatever numbers were asked for."""
    try:
        return reader(**params)
    except (MemoryError, OverflowError, ValueError) as error:  # of NumPy
        raise FedkinError(
            f"data set {name!r} cannot be made of these numbers ({first_line(error)}): ask for "
            "smaller ones, or leave them out"
        ) from None


def check_name(name: str, dir: Path | str | None) -> None:
    """Refuses a name that ``load`` would not know; whether a named file is there is not asked.

    Args:
        name: The value of data.name.
        dir: The data folder.

    Raises:
        FedkinError: Names the nearest data set that exists.
    """
    if name in SOURCES or is_path(name):
        return
    _refuse_unread_file(name)
    _refuse_keys(name)
    folder = data_folder(dir)
    files = npz_names(folder) if folder else []
    if name in files:
        return
    _refuse_misspelt(name)
    if "/" in name:
        raise FedkinError(
            f"{name} does not exist: check the path of the folder, or name a file in it"
        )
    raise unknown("data set", name, {*SOURCES, *files})


def _refuse_unread_file(name: str) -> None:
    """Raise FedkinError for the path of a file that is there, of a kind that nothing here reads."""
    file = typed_path(name)
    if name in SOURCES or not _is_path(name) or not file.is_file():
        return
    ending = file.suffix.lower()
    if ending in ENDINGS:
        raise FedkinError(f"{name} is one image: {PICTURES_AS}")
    raise FedkinError(
        f"{name} is of no kind that fedkin reads ({', '.join(FILES)}): "
        f"{ARRAYS_AS if ending in ARRAYS else ROWS_AS}"
    )


def _refuse_misspelt(name: str) -> None:
    """Raise FedkinError for what looks like a path, where a file or a folder is most like it."""
    if _is_path(name) and (near := near_path(typed_path(name))):
        raise FedkinError(f"neither a data set, a file nor a folder is called {cut(name)!r}{near}")


def _is_path(name: str) -> bool:
    """Whether a name is written as a path: in a folder, or with an ending."""
    return "/" in name or bool(typed_path(name).suffix)


def _refuse_keys(name: str) -> None:
    """Raise FedkinError for a path with keys behind a colon, which --data alone takes apart."""
    path, _, keys = name.partition(":")
    first = keys.partition(",")[0]
    if is_path(path) and "=" in first:
        raise FedkinError(
            f"{cut(name)!r} is no name of data: --data takes keys behind a colon; elsewhere the "
            f"name is {path!r}, and each key stands by itself, as in "
            f"--set {shlex.quote(cut(f'data.{first}'))}"
        )


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
