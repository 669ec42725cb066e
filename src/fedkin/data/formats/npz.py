"""One .npz file as a Source: either x, y or x_train, y_train, x_test, y_test; client labels where
there are any.
"""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from fedkin.core.errors import FedkinError, cut, reason
from fedkin.data.arrays import Array, images, text
from fedkin.data.formats.array_names import check_names, check_own, meant_by, said_of
from fedkin.data.formats.npz_size import check_size
from fedkin.data.source import Publicity, Source, classified

SPLIT = ("x_train", "y_train", "x_test", "y_test")
KEYS = ("x", "y", "client")  # of which every part has its own
BESIDE = [f"{key}_{part}" for part in ("train", "val", "test") for key in KEYS]


class Divided(NamedTuple):
    """One client's samples as its file divides them: the parts one after the other, and the rows of
    each of them.
    """

    x: Array
    y: Array
    sizes: dict[str, int]


def read_npz(
    path: Path,
    name: str,
    publicity: Publicity = "private",
    *,
    classes: int | None = None,
    class_names: tuple[str, ...] = (),
    parts: tuple[str, ...] = ("train", "test"),
    own: bool = False,
) -> Source:
    """A checked Source from one file.

    Keys: ``x, y`` or ``x_train, y_train, x_test, y_test`` (the test rows are then the official test
    set); optional ``client`` (``client_train, client_test``) and ``client_name`` (its integers are
    rows of it), ``names`` or ``class_names``; every further array with a row a sample is kept in
    ``truth``. Integer y is classification, floating y regression. uint8 images get the channel axis
    first; flat uint8 of 0 and 1 are numbers. Never unpickles.

    Args:
        path: The archive.
        name: Of the data set.
        publicity: Whether it is the private data or a public set; an unlabeled one needs no y.
        classes: How many; None: one more than the largest label, or one a class name.
        class_names: In the order of the labels; () takes the file's own, if any.
        parts: Which parts of a divided file are read.
        own: It is somebody's own: arrays that nothing reads are told, and refused where they are
            meant for others.

    Returns:
        The Source of all rows, part after part.
    """
    arrays = load_arrays(path)
    array_names = list(arrays)
    unlabeled = publicity == "unlabeled"
    if own:
        check_own(array_names, path, unlabeled)
    if unlabeled and "x" in arrays and "y" not in arrays and arrays["x"].ndim:
        arrays["y"] = np.zeros(len(arrays["x"]), dtype=np.int64)  # which nobody will read
    names = class_names or names_in(arrays, path)
    flat, official = _flat(arrays, path, parts)
    client = (
        None if "client" not in flat else _client(flat["client"], arrays.get("client_name"), path)
    )
    rows = len(flat["x"]) if flat["x"].ndim else 0
    known = {"x", "y", "client", "client_name", "names", "class_names"}
    truth = {k: v for k, v in flat.items() if k not in known and v.ndim and len(v) == rows}
    x, remarks = _flat_bytes(images(flat["x"]))
    source = classified(
        name,
        x,
        flat["y"],
        where=str(path),
        classes=classes,
        class_names=names,
        client=client,
        official_test=official,
        truth=truth,
    )
    unread = said_of(array_names, truth, unlabeled) if own else ()
    return source._replace(said=(*source.said, *remarks, *unread))


def _flat_bytes(x: Array) -> tuple[Array, tuple[str, ...]]:
    """uint8 without axes of a picture: flags are numbers, others are pixels of which that is said.

    Args:
        x: [n, …].

    Returns:
        The samples, and what there is to say of them.
    """
    if x.dtype != np.uint8 or x.ndim != 2 or not x.size:
        return x, ()
    if x.max() <= 1:
        return x.astype(np.float32), ()
    return x, ("x is uint8 and so taken for pixels, divided by 255: save other numbers as float32",)


def names_in(arrays: dict[str, Array], path: Path) -> tuple[str, ...]:
    """The classes' own names.

    Args:
        arrays: Key → array.
        path: The archive, for messages.

    Returns:
        In the order of the labels; () where the file has none.

    Raises:
        FedkinError: Two classes have one name, or the array holds no text.
    """
    key = "names" if "names" in arrays else "class_names"
    if key not in arrays:
        return ()
    names = tuple(str(item) for item in text(arrays[key], f"{path}: {key}"))
    twice = next((name for name, count in Counter(names).items() if count > 1), None)
    if twice is not None:
        raise FedkinError(f"{path}: {key} holds {twice!r} twice: give every class its own name")
    return names


def load_arrays(path: Path) -> dict[str, Array]:
    """All arrays of an .npz file; FedkinError where it is damaged or needs pickle.

    Args:
        path: The archive.

    Returns:
        Key → array.

    Raises:
        FedkinError: It is damaged, too large, or holds Python objects.
    """
    if path.exists() and not path.is_file():  # to open a pipe is to wait for who writes into it
        raise FedkinError(f"{path} cannot be read: it is a folder, a device or a pipe, not a file")
    try:
        check_size(path)
        if _is_bare(path):  # which numpy would read whole
            raise FedkinError(
                f"{path} holds a bare array, not an .npz archive: save it with "
                "numpy.savez(x=…, y=…)"
            )
        with np.load(path, allow_pickle=False) as file:
            arrays = {key: file[key] for key in file.files}
            other = next((key for key, one in arrays.items() if isinstance(one, bytes)), None)
            if other is not None:
                raise FedkinError(
                    f"{path} holds {cut(other, 40)!r}, which is no array: save it with "
                    "numpy.savez(x=…, y=…)"
                )
            return arrays
    except FedkinError:
        raise
    except ValueError as error:
        why = _objects_or_other(path) if "allow_pickle" in str(error) else "it is damaged"
        raise FedkinError(
            f"{path} cannot be read: {why}; save plain arrays with numpy.savez(x=…, y=…)"
        ) from None
    except OSError as error:
        raise FedkinError(f"{path} cannot be read: {reason(error)}") from None
    except Exception:  # each decompressor has its own, and numpy reads a header as Python's text
        raise FedkinError(f"{path} is damaged or cut short: make or download it again") from None


def _is_bare(path: Path) -> bool:
    """Whether a file is what numpy.save writes, under another name."""
    with path.open("rb") as file:
        return file.read(len(np.lib.format.MAGIC_PREFIX)) == np.lib.format.MAGIC_PREFIX


def _objects_or_other(path: Path) -> str:
    """Why numpy asks for pickle, which it does of everything that is no file of its own."""
    with path.open("rb") as file:
        own = file.read(2) in (b"PK", b"\x80\x02", b"\x80\x03", b"\x80\x04", b"\x80\x05")
    return "it holds Python objects" if own else "it is no .npz archive"


def divided(arrays: dict[str, Array], path: Path, parts: Sequence[str], wanted: str) -> Divided:
    """x_train, y_train and those of the other ``parts`` that are there; ``wanted`` says what such a
    file holds.

    Args:
        arrays: Key → array.
        path: The archive, for messages.
        parts: The parts that may be there: "train", "test", "public".
        wanted: What a file of this kind holds, in words.

    Returns:
        x and y of all parts one after the other, and how many rows each has.

    Raises:
        FedkinError: A part lacks x or y, or their rows, shapes or types do not fit.
    """
    check_names(arrays, path, [f"{key}_{part}" for part in parts for key in "xy"])
    there = [part for part in parts if f"x_{part}" in arrays]
    for name in (f"{key}_{part}" for part in dict.fromkeys(["train", *there]) for key in "xy"):
        if name not in arrays:
            raise FedkinError(f"{path} lacks {name}: {wanted}")
    for key, part in ((key, part) for part in there for key in "xy"):
        _same_rows(arrays, key, part, path)
        _same_kind(arrays, key, part, "train", path)
    x, y = (np.concatenate([arrays[f"{key}_{part}"] for part in there]) for key in "xy")
    return Divided(x, y, {part: len(arrays[f"x_{part}"]) if part in there else 0 for part in parts})


def is_whole(arrays: dict[str, Array], path: Path) -> bool:
    """Whether a file has x and y, and so no parts.

    Args:
        arrays: Key → array.
        path: The archive, for messages.

    Returns:
        False where it lacks one of both.

    Raises:
        FedkinError: It has parts beside them.
    """
    if not {"x", "y"} <= set(arrays):
        return False
    if others := [key for key in arrays if meant_by(key) in BESIDE]:
        raise FedkinError(
            f"{path} has x, y and {', '.join(others)} beside them: keep x, y alone, or divide "
            f"all samples into {', '.join(SPLIT)}"
        )
    return True


def _flat(
    arrays: dict[str, Array], path: Path, parts: tuple[str, ...]
) -> tuple[dict[str, Array], Array | None]:
    """Train and test rows one after the other, with the mask of the test rows (None where there is
    one part).
    """
    if is_whole(arrays, path):
        return arrays, None
    if "x" in arrays and not any(key in arrays for key in BESIDE):
        raise FedkinError(
            f"{path} has x and no labels y: give y; only a public set may lack it, with "
            "public.labeled = false, for methods that need no public labels, such as ds_fl"
        )
    if others := [key for key in arrays if meant_by(key) in {f"{one}_val" for one in KEYS}]:
        raise FedkinError(
            f"{path} has {', '.join(others)}, and validation samples are a share of each client's "
            "(split.val): append them to x_train and y_train"
        )
    wanted = [f"{key}_{part}" for part in parts for key in "xy"]
    missing = [key for key in wanted if key not in arrays]
    if missing:
        raise FedkinError(
            f"{path} lacks {', '.join(missing)}: it needs x, y or {', '.join(SPLIT)}, and "
            f"has {', '.join(arrays) or 'nothing'}"
        )
    keys = [key.removesuffix(f"_{parts[0]}") for key in arrays if key.endswith(f"_{parts[0]}")]
    both = [key for key in keys if all(f"{key}_{part}" in arrays for part in parts)]
    clients = [f"client_{part}" for part in parts if f"client_{part}" in arrays]
    if clients and "client" not in both:
        raise FedkinError(
            f"{path} has {clients[0]} but not the clients of the other samples: give "
            f"{' and '.join(f'client_{part}' for part in parts)}"
        )
    for part in parts:
        for key in both:
            _same_rows(arrays, key, part, path)
        for key in KEYS:
            if key in both:
                _same_kind(arrays, key, part, parts[0], path)
    sizes = [len(arrays[f"y_{part}"]) for part in parts]
    flat = {key: np.concatenate([arrays[f"{key}_{part}"] for part in parts]) for key in both}
    return flat, np.repeat([part == "test" for part in parts], sizes) if len(parts) > 1 else None


def _same_rows(arrays: dict[str, Array], key: str, part: str, path: Path) -> None:
    here, x = arrays[f"{key}_{part}"], arrays[f"x_{part}"]
    other = arrays.get(f"{key}_train", here)
    if here.ndim == 0 or x.ndim == 0 or len(here) != len(x):
        raise FedkinError(
            f"{path}: {key}_{part} has shape {here.shape} and x_{part} has {x.shape}: rows "
            "must agree"
        )
    if here.shape[1:] != other.shape[1:]:
        raise FedkinError(
            f"{path}: {key}_{part} rows are {here.shape[1:]}, but {key}_train rows are "
            f"{other.shape[1:]}"
        )


def _same_kind(arrays: dict[str, Array], key: str, part: str, first: str, path: Path) -> None:
    """Together, classes would become numbers, and pixels what the model does not scale."""
    here, there = arrays[f"{key}_{part}"].dtype, arrays[f"{key}_{first}"].dtype
    pixels = key == "x" and (here == np.uint8) != (there == np.uint8)
    if pixels or (here.kind != there.kind and not {here.kind, there.kind} <= set("bui")):
        raise FedkinError(
            f"{path}: {key}_{part} holds {here} values, but {key}_{first} {there}: save them as "
            "one type"
        )


def _client(client: Array, names: Array | None, path: Path) -> Array:
    """Client labels; integers that index a table of names become those names."""
    client = text(client, f"{path}: client")
    if names is None:
        return client
    names = text(names, f"{path}: client_name")
    if client.dtype.kind != "i" or (
        len(client) and not 0 <= int(client.min()) <= int(client.max()) < len(names)
    ):
        raise FedkinError(
            f"{path}: client must hold numbers from 0 to {len(names) - 1}, the rows of client_name"
        )
    return names[client]


def npz_names(folder: Path) -> list[str]:
    """Names of the .npz files in a folder: what can be loaded besides the known data sets.

    Args:
        folder: The data folder, which need not be there.

    Returns:
        In alphabetical order, without the ending.
    """
    return sorted(path.stem for path in folder.glob("*.npz")) if folder.is_dir() else []
