"""The user's own files: which importer reads a path, and what it takes."""

import inspect
from collections.abc import Callable, Collection, Mapping
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from fedkin.core.errors import FedkinError, unknown
from fedkin.core.files import near_path, typed_path
from fedkin.data.arguments import check_arguments
from fedkin.data.formats.frames import READERS, tables_in
from fedkin.data.formats.hugging_face import HUB, is_saved, read_hub, read_saved
from fedkin.data.formats.images import ENDINGS, has_pictures, read_pictures
from fedkin.data.formats.leaf import is_leaf, read_leaf, refuse_list
from fedkin.data.formats.memory import within_room
from fedkin.data.formats.npz import read_npz
from fedkin.data.source import Publicity, Source
from fedkin.data.tables.table import read_table


class Layout(NamedTuple):
    """How files lie, and who reads them.

    ``read(path, **options)``; its keywords are the keys of [data].
    """

    what: str
    fits: Callable[[Path], bool]
    read: Callable[..., Source]


LAYOUTS: dict[str, Layout] = {
    "npz": Layout(
        "an .npz file",
        lambda path: path.suffix.lower() == ".npz",
        lambda path, publicity="private": read_npz(path, path.stem, publicity, own=True),
    ),
    "table": Layout(
        "a table", lambda path: path.suffix.lower() in READERS and not path.is_dir(), read_table
    ),
    "saved": Layout("a data set that Hugging Face saved", is_saved, read_saved),
    "leaf": Layout("LEAF's JSON", is_leaf, read_leaf),
    "tables": Layout(
        "a folder with a table for each client",
        lambda path: path.is_dir() and bool(tables_in(path)),
        read_table,
    ),
    "pictures": Layout("a folder of images, CLIENT/CLASS/image", has_pictures, read_pictures),
}
FILES = (".npz", ".json", *READERS)  # a name that ends so is a file


def is_path(name: str) -> bool:
    """Whether the name of a data set is that of a file or a folder (by its ending, or by a slash),
    or of the hub.

    Args:
        name: The value of data.name.

    Returns:
        Whether it is one's own data, not a named set.
    """
    return (
        name.startswith(HUB)
        or Path(name).suffix.lower() in FILES
        or ("/" in name and typed_path(name).is_dir())
    )


def layout_of(path: Path) -> Layout:
    """The layout of a file or folder that exists.

    Args:
        path: It is there.

    Returns:
        The first that fits, in the order of LAYOUTS.

    Raises:
        FedkinError: Nothing in it ends in an ending that is read, or it is a .json of records.
    """
    refuse_list(path)
    for layout in LAYOUTS.values():
        if layout.fits(path):
            return layout
    endings = ", ".join(FILES)
    raise FedkinError(
        f"{path} holds nothing that fedkin reads: a file, or a folder of files, that end in "
        f"{endings}, or a folder CLIENT/CLASS of images ({', '.join(ENDINGS)})"
    )


def read_own(
    name: str, folder: Path | None, options: Mapping[str, Any], publicity: Publicity = "private"
) -> Source:
    """The Source of a file, a folder or a name of the hub.

    Args:
        name: As it is typed.
        folder: The data folder, where relative paths are looked for too.
        options: The keys of [data], with their values.
        publicity: Whether it is the private data or a public set.

    Returns:
        As the layout's reader gives it.

    Raises:
        FedkinError: It is not there, damaged, or does not take one of the options.
    """
    if name.startswith(HUB):
        only_known(options, takes(name, folder), "a data set of the hub")
        hubs = {key: options[key] for key in _options(read_hub) if key in options}
        others = {key: value for key, value in options.items() if key not in hubs}
        check_arguments(read_hub, hubs, "data", "a data set of the hub")
        check_arguments(read_saved, others, "data", "a data set of the hub")
        return read_hub(name, others, publicity, **hubs)
    path = place_of(name, folder)
    layout = layout_of(path)
    only_known(options, _options(layout.read), layout.what)
    check_arguments(layout.read, options, "data", layout.what)
    read = (
        partial(layout.read, publicity=publicity)
        if "publicity" in inspect.signature(layout.read).parameters
        else layout.read
    )
    with within_room(path):
        return read(path, **options)


def takes(name: str, folder: Path | None) -> list[str]:
    """The options of the importer that reads a path.

    Args:
        name: As it is typed.
        folder: The data folder.

    Returns:
        Names of keys of [data].
    """
    if name.startswith(HUB):
        return [*_options(read_saved), *_options(read_hub)]
    return _options(layout_of(place_of(name, folder)).read)


def _options(read: Callable[..., Source]) -> list[str]:
    return [p.name for p in inspect.signature(read).parameters.values() if p.kind is p.KEYWORD_ONLY]


def only_known(options: Mapping[str, Any], known: Collection[str], what: str) -> None:
    """Refuses an option that is not among those known of ``what``.

    Args:
        options: What was given.
        known: The names that exist.
        what: What takes them: "a table".

    Raises:
        FedkinError: Names the nearest option that exists.
    """
    for name in options:
        if name not in known and not known:
            raise FedkinError(f"{what} takes no parameter {name!r}: leave it out")
        if name not in known:
            raise unknown(f"parameter of {what}", name, known)


def place_of(name: str, folder: Path | None) -> Path:
    """The path, as it stands or in the data folder.

    Args:
        name: As it is typed.
        folder: The data folder; None where there is none.

    Returns:
        What is there: a file or a folder.

    Raises:
        FedkinError: There is nothing in either place.
    """
    path = typed_path(name)
    for candidate in (path, folder / path if folder else path):
        if candidate.exists():
            return candidate
    also = f" (nor in {folder})" if folder and not path.is_absolute() else ""
    near = near_path(path)
    hint = f"{near} Or name" if near else ": check the path, or name"
    raise FedkinError(f"file {path} does not exist{also}{hint} its folder with --data-dir")
