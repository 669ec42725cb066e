"""Hugging Face data sets: from disk, as ``save_to_disk`` writes them, or from the hub as
``hf:NAME`` (extra ``hf``).
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from fedkin.core.errors import FedkinError, first_line
from fedkin.data.arrays import Array, text
from fedkin.data.formats.frames import Read
from fedkin.data.formats.images import Colour, pixels
from fedkin.data.source import Source, classified
from fedkin.data.tables.schema import Names, Publicity, Roles, as_asked
from fedkin.data.tables.table import table_source

HUB = "hf:"
DICT, STATE, INFO = "dataset_dict.json", "state.json", "dataset_info.json"
TEST = "test"


class Part(NamedTuple):
    """One split: its rows, and the names of the classes of its columns of class labels."""

    name: str
    frame: pd.DataFrame
    classes: dict[str, list[str]]
    pictures: list[str]  # columns


def is_saved(path: Path) -> bool:
    """Whether a folder is what ``save_to_disk`` writes."""
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
    about: Names = (),
    colour: Colour = "auto",
    size: Sequence[int] = (),
) -> Source:
    """A Source of a saved data set; rows of its split "test", if it has several, are the official
    test rows.

    With a column of pictures, x is that column and ``colour`` and ``size`` are as for a folder of
    pictures; otherwise the keys are those of tables. Class labels go by their names.
    """
    parts = _saved(path)
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
        about=about,
        publicity=publicity,
    )
    return _source(path.name, str(path), parts, roles, colour, size)


def read_hub(name: str, options: dict[str, Any], publicity: Publicity = "private") -> Source:
    """The data set ``hf:NAME`` or ``hf:NAME/CONFIGURATION`` of the hub; options as in
    ``read_saved``.
    """
    try:
        import datasets
    except ImportError:
        raise FedkinError(
            f"{name} needs the package datasets: install fedkin[hf], its extra"
        ) from None
    plain = name.removeprefix(HUB)
    try:
        found = datasets.load_dataset(plain)
        parts = [_of_hub(str(split), rows) for split, rows in found.items()]
    except Exception as error:  # no network, no such name, no permission: the hub's own words
        raise FedkinError(f"{name} cannot be had: {first_line(error)}") from None
    colour, size = options.pop("colour", "auto"), options.pop("size", ())
    return _source(
        plain.replace("/", "-"), name, parts, Roles(**options, publicity=publicity), colour, size
    )


def _of_hub(split: str, rows: Any) -> Part:
    features = {
        key: {"_type": type(value).__name__, "names": getattr(value, "names", None)}
        for key, value in rows.features.items()
    }
    table = rows.data.table if hasattr(rows.data, "table") else rows.data
    return _part(split, table.to_pandas(), features)


def _saved(path: Path) -> list[Part]:
    if not (path / DICT).is_file():
        return [_one("train", path)]
    splits = _json(path / DICT).get("splits", [])
    if not splits or not all(isinstance(name, str) and (path / name).is_dir() for name in splits):
        raise FedkinError(f"{path / DICT} names splits that are not there: save the data set again")
    return [_one(name, path / name) for name in splits]


def _one(name: str, folder: Path) -> Part:
    files = [str(one.get("filename")) for one in _json(folder / STATE).get("_data_files", [])]
    try:
        import pyarrow as arrow
    except ImportError:
        raise FedkinError(
            f"{folder}: reading Arrow needs pyarrow: install fedkin[parquet]"
        ) from None
    try:
        tables = []
        for file in files:
            with arrow.memory_map(str(folder / file)) as mapped:
                tables.append(arrow.ipc.open_stream(mapped).read_all())
        frame = arrow.concat_tables(tables).to_pandas()
    except Exception as error:  # pyarrow's errors cannot be named where it is not installed
        raise FedkinError(f"{folder} is damaged: {first_line(error)}") from None
    return _part(name, frame, _json(folder / INFO).get("features") or {})


def _part(name: str, frame: pd.DataFrame, features: dict[str, Any]) -> Part:
    of = {key: value for key, value in features.items() if isinstance(value, dict)}
    classes = {
        key: value["names"]
        for key, value in of.items()
        if value.get("_type") == "ClassLabel" and value["names"]
    }
    return Part(
        name, frame, classes, [key for key, value in of.items() if value.get("_type") == "Image"]
    )


def _json(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        raise FedkinError(f"{path} is missing or damaged: save the data set again") from None
    if not isinstance(found, dict):
        raise FedkinError(f"{path} is damaged: save the data set again")
    return found


def _source(
    name: str, where: str, parts: list[Part], roles: Roles, colour: Colour, size: Sequence[int]
) -> Source:
    frame = pd.concat([part.frame for part in parts], ignore_index=True)
    if len(frame) == 0:
        raise FedkinError(f"{where} has no rows")
    for key, names in parts[0].classes.items():
        frame[key] = _named(frame[key], names, f"{where}: column {key!r}")
    test = np.repeat([part.name == TEST for part in parts], [len(part.frame) for part in parts])
    official = test if test.any() and not test.all() else None
    read = Read(frame, lambda row: f"{where}, row {row}")
    if parts[0].pictures:
        read, roles = as_asked(read, where, roles)
        return _pictures(
            name, where, read.frame, parts[0].pictures[0], roles, colour, size
        )._replace(official_test=official)
    return table_source(read, name, where, roles)._replace(official_test=official)


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


def _pictures(
    name: str,
    where: str,
    frame: pd.DataFrame,
    column: str,
    roles: Roles,
    colour: Colour,
    size: Sequence[int],
) -> Source:
    for role, key in (("label", roles.label), ("client", roles.client)):
        if key is not None and key not in frame.columns:
            raise FedkinError(
                f"{where} has no {role} column {key!r}: name it with --set data.{role}=COLUMN "
                "(columns: "
                f"{', '.join(map(str, frame.columns))})"
            )
    cells = list(frame[column])
    rows = [f"{where}, row {row}" for row in range(len(cells))]
    x = pixels([lambda cell=cell: _bytes(cell) for cell in cells], rows, colour, size)  # type: ignore[misc]
    if frame[roles.label].isna().any():
        raise FedkinError(
            f"{where}, row {int(frame[roles.label].isna().to_numpy().argmax())}: "
            f"{roles.label!r} is empty"
        )
    names, y = np.unique(frame[roles.label].astype(str).to_numpy(dtype=str), return_inverse=True)
    client: Array | None = (
        None if roles.client is None else text(frame[roles.client].astype(str).to_numpy(dtype=str))
    )
    return classified(
        name,
        x,
        y.astype(np.int64),
        where=where,
        class_names=tuple(str(one) for one in names),
        client=client,
    )


def _bytes(cell: Any) -> bytes:
    content = cell.get("bytes") if isinstance(cell, dict) else cell
    if isinstance(content, bytes):
        return content
    path = cell.get("path") if isinstance(cell, dict) else None
    if path and Path(path).is_file():
        return Path(path).read_bytes()
    raise ValueError("it has neither bytes nor a file")
