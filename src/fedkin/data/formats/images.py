"""A folder tree client/class/*.png as a Source (extra ``images``)."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from fedkin.core.errors import FedkinError, many, some
from fedkin.core.files import read_file
from fedkin.data.formats.pixels import MODES, Colour, changes, pixels
from fedkin.data.source import Source, classified

ENDINGS = (".png", ".jpg", ".jpeg", ".bmp", ".gif", ".tif", ".tiff", ".webp", ".pgm", ".ppm")
PICTURE = 1 << 28  # bytes of a file that one picture may take
# names of folders that are parts of a data set, and no clients
PARTS = {"train", "training", "val", "valid", "validation", "dev", "test", "testing"}


def has_pictures(path: Path) -> bool:
    """Whether a folder holds pictures, at any of the first four levels.

    Args:
        path: Anything that is there.

    Returns:
        By the endings of names; no file is opened.
    """
    return path.is_dir() and any(
        is_picture(file, path)
        for depth in ("*", "*/*", "*/*/*", "*/*/*/*")
        for file in path.glob(depth)
    )


def is_picture(file: Path, folder: Path) -> bool:
    """Whether a file of a folder is taken as a picture: by its ending, and nothing hidden.

    Args:
        file: A path in ``folder``, at any depth.
        folder: Where the pictures are.

    Returns:
        False of ``._1.png`` and ``.thumbnails/1.png``, which other programs make.
    """
    parts = file.relative_to(folder).parts
    return file.suffix.lower() in ENDINGS and not any(part.startswith(".") for part in parts)


def read_pictures(path: Path, *, colour: Colour = "auto", size: Sequence[int] = ()) -> Source:
    """uint8 [n, channels, height, width] from path/CLIENT/CLASS/image; clients and classes in
    sorted order.

    colour: "grey" or "rgb"; "auto" is grey where every picture is. size: [height, width] to bring
    all to; without it they must be equal. Files that are no pictures and folders without any are
    counted in ``said``.

    Args:
        path: The folder of the clients' folders.
        colour: "grey", "rgb", or "auto".
        size: [height, width] in pixels; () leaves pictures as they are.

    Returns:
        A Source with natural clients and named classes.

    Raises:
        FedkinError: There are no pictures, one cannot be decoded, or their sizes differ.
    """
    _check(colour, size)
    files = _pictures(path, 3)
    if not files or {file.parent.parent.name.lower() for file in files} <= PARTS:
        raise _otherwise(path, files)
    pictures = set(files)
    others = [one for one in path.rglob("*") if one not in pictures and one.is_file()]
    reads = [partial(read_file, file, PICTURE) for file in files]
    found = pixels(reads, [str(file) for file in files], colour, size)
    clients = [file.parent.parent.name for file in files]
    names, y = np.unique([file.parent.name for file in files], return_inverse=True)
    return classified(
        path.name,
        found.x,
        y.astype(np.int64),
        where=str(path),
        class_names=tuple(str(name) for name in names),
        client=np.array(clients),
    )._replace(said=(*_left_out(others), *_empty(path), *changes(found, clients)))


def _pictures(path: Path, depth: int) -> list[Path]:
    """The files at some depth whose names end as pictures' do, in order."""
    files = path.glob("/".join("*" * depth))
    return sorted(file for file in files if is_picture(file, path))


def _otherwise(path: Path, files: Sequence[Path]) -> FedkinError:
    """What is said of the ways in which people sort images that are not CLIENT/CLASS/image."""
    none = f"{path} has no images of the form CLIENT/CLASS/image"
    deeper, flatter = _pictures(path, 4), _pictures(path, 2)
    divided = "fedkin divides each client's images into train, validation and test itself"
    arrays = "a test set of its own goes into an .npz file (x_train, x_test, client_test, …)"
    if files:
        part = files[0].parent.parent.name
        return FedkinError(
            f"{none}: found {part}/CLASS/image, and {part!r} is no client: {divided}, so put the "
            f"folders of classes into one folder a client; {arrays}"
        )
    folders = [file.relative_to(path).parts for file in deeper]
    for at, form in enumerate(("{}/CLIENT/CLASS", "CLIENT/{}/CLASS")):
        if folders and {parts[at].lower() for parts in folders} <= PARTS:
            return FedkinError(
                f"{none}: found {form.format(folders[0][at])}/image: {divided}, so move the images "
                f"to CLIENT/CLASS; {arrays}"
            )
    here = path.resolve()
    if above := _of_all_clients(here, {file.parent.name for file in flatter}):
        return FedkinError(
            f"{none}: found CLASS/image, as one client has it: give the folder of all clients, "
            f"{above}"
        )
    if _pictures(path, 1) and (above := _of_all_clients(here.parent, {here.name})):
        return FedkinError(
            f"{none}: found the images of one class: give the folder of all clients, {above}"
        )
    if flatter:
        return FedkinError(
            f"{none}: found CLASS/image, as in torchvision's ImageFolder: each client has such a "
            f"folder, so move {some(sorted({file.parent.name for file in flatter}))} to "
            f"{path / 'CLIENT'}"
        )
    return FedkinError(f"{none}: sort them into such folders")


def _of_all_clients(client: Path, classes: set[str]) -> Path | None:
    """The folder above a client, if another client there has images of its classes."""
    above = client.parent
    others = (
        file
        for file in above.glob("*/*/*")
        if file.parent.name in classes and is_picture(file, above)
    )
    names = (file.parent.parent.name for file in others)
    found = any(name != client.name and name.lower() not in PARTS for name in names)
    return above if found else None


def _check(colour: str, size: Any) -> None:
    if colour not in ("auto", *MODES):
        raise FedkinError(f"data.colour={colour!r} is not known: use 'auto', 'grey' or 'rgb'")
    whole = isinstance(size, Sequence) and all(
        isinstance(n, int) and not isinstance(n, bool) and n > 0 for n in size
    )
    if not whole or len(size) not in (0, 2):
        raise FedkinError(f"data.size={size!r} must be two whole numbers, [height, width]")


def _left_out(others: list[Path]) -> list[str]:
    if not others:
        return []
    shown = some(sorted(file.name for file in others))
    return [
        f"{many(len(others), 'file is not', 'files are not')} of the form "
        f"CLIENT/CLASS/image and left out: {shown}"
    ]


def _empty(path: Path) -> list[str]:
    full = {file.parent.parent.name for file in _pictures(path, 3)}
    shown = (one for one in path.iterdir() if one.is_dir() and not one.name.startswith("."))
    bare = sorted(one.name for one in shown if one.name not in full)
    return (
        [f"{many(len(bare), 'folder has', 'folders have')} no images, so no client: {some(bare)}"]
        if bare
        else []
    )
