"""Hugging Face data sets: from disk, as ``save_to_disk`` writes them, or from the hub as
``hf:NAME`` (extra ``hf``).
"""

import json
import os
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd

from fedkin.core.errors import FedkinError, cut, first_line
from fedkin.core.files import read_file
from fedkin.data.formats.columnar import to_frame
from fedkin.data.formats.frames import Read
from fedkin.data.formats.images import PICTURE
from fedkin.data.formats.pixels import Colour
from fedkin.data.formats.saved_pictures import pictures_of
from fedkin.data.source import Publicity, Source
from fedkin.data.tables.kinds import differing, with_text
from fedkin.data.tables.schema import Missing, Names, Roles
from fedkin.data.tables.table import table_source

HUB = "hf:"
DICT, STATE, INFO = "dataset_dict.json", "state.json", "dataset_info.json"
TEST = "test"
DESCRIBED = 1 << 26  # bytes of a file that describes a data set


class Split(NamedTuple):
    """One split: its rows, and the names of the classes of its columns of class labels."""

    name: str
    frame: pd.DataFrame
    classes: dict[str, list[str]]
    pictures: list[str]  # columns


def is_saved(path: Path) -> bool:
    """Whether a folder is what ``save_to_disk`` writes.

    Args:
        path: Anything that is there.

    Returns:
        False for a file.
    """
    return path.is_dir() and any((path / name).is_file() for name in (DICT, STATE))


def read_saved(
    path: Path,
    publicity: Publicity = "private",
    *,
    client: str | None = None,
    label: str = "label",
    drop: Names = (),
    categorical: Names = (),
    text: Names = (),
    group: str | None = None,
    task: str = "auto",
    scale: str = "standard",
    most: int = 100,
    unlabeled: Literal["refuse", "drop"] = "refuse",
    about: Names = (),
    missing: Missing = (),
    unify: Names = (),
    duplicates: Literal["keep", "drop"] = "keep",
    colour: Colour = "auto",
    size: Sequence[int] = (),
) -> Source:
    """A Source of a saved data set; rows of its split "test", if it has several, are the official
    test rows.

    With a column of pictures, x is that column and ``colour`` and ``size`` are as for a folder of
    pictures, and what tells how a table is taken is refused; otherwise the keys are those
    of tables. Class labels go by their names.

    Args:
        path: The folder that ``save_to_disk`` wrote.
        publicity: Whether it is the private data, or a public set with or without labels.
        client: The column that names each row's client.
        label: The column to predict.
        drop: Columns to leave out.
        categorical: Columns whose cells are categories.
        text: Columns whose cells are texts.
        group: A column whose equal values stay in one split.
        task: "classification", "regression", or "auto".
        scale: "standard" or "none", of columns of numbers.
        most: Categories, or words, that a column may have.
        unlabeled: "refuse" or "drop": what becomes of rows without a label.
        about: Columns that are kept in ``truth`` and that no model sees.
        missing: Cells that stand for nothing: a list, or a list for each column.
        unify: Columns whose spellings become one.
        duplicates: "keep" or "drop", of equal rows.
        colour: "grey", "rgb", or "auto".
        size: [height, width] of pictures; () where all have one.

    Returns:
        A Source of cells or of pixels.
    """
    splits = _saved(path)
    roles = Roles(
        client,
        label,
        task,
        scale,
        drop,
        categorical,
        text,
        group,
        most,
        unlabeled,
        about,
        publicity,
        missing,
        unify,
        duplicates,
    )
    return _source(path.name, str(path), splits, roles, colour, size, [path])


def read_hub(
    name: str,
    options: dict[str, Any],
    publicity: Publicity = "private",
    *,
    configuration: str | None = None,
) -> Source:
    """The data set ``hf:NAME`` of the hub; options as in ``read_saved``.

    Args:
        name: As it is typed, with "hf:".
        options: The other keys of [data].
        publicity: Whether it is the private data or a public set.
        configuration: Which one of the data set, where it has several; None: its only one.

    Returns:
        The same as of a saved data set.

    Raises:
        FedkinError: The package datasets is not there, or the hub does not give the data set.
    """
    try:
        import datasets
    except ImportError:
        raise FedkinError(
            f"{name} needs the package datasets, the extra hf: in fedkin's checkout, "
            "pip install -c constraints.txt '.[hf]'"
        ) from None
    plain = name.removeprefix(HUB)
    try:
        loaded = datasets.load_dataset(plain, name=configuration)
        splits = [_of_hub(str(split), rows) for split, rows in loaded.items()]
    except Exception as error:  # no network, no such name, no permission: the hub's own words
        raise FedkinError(f"{name} cannot be had: {first_line(error)}") from None
    colour, size = options.pop("colour", "auto"), options.pop("size", ())
    roles = Roles(**options, publicity=publicity)
    homes = _caches(datasets)
    called = plain if configuration is None else f"{plain}-{configuration}"
    return _source(called.replace("/", "-"), name, splits, roles, colour, size, homes)


def _caches(datasets: Any) -> list[Path]:
    """Where the hub's files are kept on this machine."""
    config = getattr(datasets, "config", None)
    names = ("HF_CACHE_HOME", "HF_DATASETS_CACHE", "HF_HUB_CACHE")
    return [Path(getattr(config, name)) for name in names if hasattr(config, name)]


def _of_hub(split: str, rows: Any) -> Split:
    features = {
        key: {"_type": type(value).__name__, "names": getattr(value, "names", None)}
        for key, value in rows.features.items()
    }
    table = rows.data.table if hasattr(rows.data, "table") else rows.data
    return _split(split, table.to_pandas(), features)


def _saved(path: Path) -> list[Split]:
    if not (path / DICT).is_file():
        return [_one("train", path)]
    listed = _json(path / DICT).get("splits", [])
    names = [str(name) for name in listed] if isinstance(listed, list) else []
    if not names or not all((path / name).is_dir() for name in names):
        raise FedkinError(f"{path / DICT} names splits that are not there: save the data set again")
    return [_one(name, _inside(path, name)) for name in names]


def _inside(folder: Path, name: str) -> Path:
    """What a saved data set names, in its own folder.

    Raises:
        FedkinError: it lies elsewhere, also by a link.
    """
    path = folder / name
    try:
        real: Path | None = Path(os.path.realpath(path))
    except ValueError:  # a name that no file can have: with a zero byte, or half a letter
        real = None
    if real is None or not real.is_relative_to(os.path.realpath(folder)):
        raise FedkinError(
            f"{folder} names {cut(name)!r}, which is not in that folder: save the data set again"
        )
    return path


def _one(name: str, folder: Path) -> Split:
    files = [_inside(folder, name) for name in _files(_json(folder / STATE), folder)]
    try:
        import pyarrow as arrow
    except ImportError:
        raise FedkinError(
            f"{folder}: reading Arrow needs pyarrow, the extra parquet: in fedkin's checkout, "
            "pip install -c constraints.txt '.[parquet]'"
        ) from None
    pool = arrow.system_memory_pool()  # and no threads: see ``columnar``
    options = arrow.ipc.IpcReadOptions(use_threads=False)
    try:
        tables = []
        for file in files:
            if not file.is_file():  # to open a pipe is to wait for whoever writes into it
                raise FedkinError(f"{file} is no file: save the data set again")
            with arrow.memory_map(str(file)) as mapped:
                stream = arrow.ipc.open_stream(mapped, options=options, memory_pool=pool)
                tables.append(stream.read_all())
        frame = to_frame(arrow.concat_tables(tables), pool)
    except (FedkinError, MemoryError):
        raise
    except Exception as error:  # pyarrow's errors cannot be named where it is not installed
        raise FedkinError(f"{folder} is damaged: {first_line(error)}") from None
    features = _json(folder / INFO).get("features") or {}
    if not isinstance(features, dict):
        raise FedkinError(f"{folder / INFO} is damaged: save the data set again")
    return _split(name, frame, features)


def _files(state: dict[str, Any], folder: Path) -> list[str]:
    listed = state.get("_data_files", [])
    whole = isinstance(listed, list) and all(isinstance(one, dict) for one in listed)
    names = [one.get("filename") for one in listed] if whole else [None]
    if not all(isinstance(name, str) for name in names):
        raise FedkinError(f"{folder / STATE} is damaged: save the data set again")
    return [str(name) for name in names]


def _split(name: str, frame: pd.DataFrame, features: dict[str, Any]) -> Split:
    of = {key: value for key, value in features.items() if isinstance(value, dict)}
    of = {key: value for key, value in of.items() if key in frame.columns}
    classes = {
        key: [str(one) for one in value["names"]]
        for key, value in of.items()
        if value.get("_type") == "ClassLabel" and isinstance(value.get("names"), list)
    }
    pictures = [key for key, value in of.items() if value.get("_type") == "Image"]
    return Split(name, frame, {key: one for key, one in classes.items() if one}, pictures)


def _json(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(read_file(path, DESCRIBED))
    except (OSError, RecursionError, ValueError):
        raise FedkinError(f"{path} is missing or damaged: save the data set again") from None
    if not isinstance(content, dict):
        raise FedkinError(f"{path} is damaged: save the data set again")
    return content


def _source(
    name: str,
    where: str,
    splits: list[Split],
    roles: Roles,
    colour: Colour,
    size: Sequence[int],
    homes: Sequence[Path],
) -> Source:
    """``homes``: the folders in which files of pictures may lie; names are of the first one."""
    frames = _alike([_with_names(split, where) for split in splits], splits[0].pictures)
    frame = pd.concat(frames, ignore_index=True)
    if len(frame) == 0:
        raise FedkinError(f"{where} has no rows")
    sizes = [len(split.frame) for split in splits]
    test = np.repeat([split.name == TEST for split in splits], sizes)
    read = Read(frame, lambda row: f"{where}, row {row}", test=test)
    if splits[0].pictures:
        content = partial(_bytes, homes=homes)
        return pictures_of(read, name, where, splits[0].pictures, roles, colour, size, content)
    return table_source(read, name, where, roles)


def _with_names(split: Split, where: str) -> pd.DataFrame:
    """A split's rows, with its own names of classes: another split may number them otherwise."""
    frame = split.frame.copy(deep=False)
    for key, names in split.classes.items():
        frame[key] = _named(frame[key], names, f"{where}: column {key!r} of {split.name}")
    return frame


def _alike(frames: list[pd.DataFrame], pictures: Sequence[str]) -> list[pd.DataFrame]:
    """Splits whose columns are of one kind each: text where it is text in one of them."""
    mixed = [name for name in differing(frames) if name not in pictures]
    return [with_text(frame, mixed) for frame in frames]


def _named(column: "pd.Series[Any]", names: list[str], where: str) -> "pd.Series[Any]":
    codes = column.to_numpy(dtype=np.float64, na_value=np.nan)
    wrong = codes[~np.isnan(codes) & ~((codes >= -1) & (codes < len(names)))]
    if len(wrong):
        raise FedkinError(f"{where} holds class {wrong[0]:g} of {len(names)}")
    known = ~np.isnan(codes) & (codes >= 0)  # -1 is the hub's mark for no label
    return pd.Series(
        [names[int(c)] if ok else None for c, ok in zip(codes, known)],
        name=column.name,
        dtype=object,
    )


def _bytes(cell: Any, homes: Sequence[Path]) -> bytes:
    content = cell.get("bytes") if isinstance(cell, dict) else cell
    if isinstance(content, bytes):
        return content
    name = cell.get("path") if isinstance(cell, dict) else None
    if not name or not homes:
        raise ValueError("it has neither bytes nor a file")
    file = Path(os.path.realpath(homes[0] / str(name)))
    if not any(file.is_relative_to(os.path.realpath(home)) for home in homes):
        raise ValueError(f"{cut(str(name))!r} is not in the data set's folder")
    return read_file(file, PICTURE)
