"""Tables as a Source: one row a sample, a label column, perhaps a client column; the others are what models see."""

from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd

from fedkin.core.errors import FedkinError
from fedkin.data.columns import Cells, Place, cells_of
from fedkin.data.encode import Recipe, Scale
from fedkin.data.frames import CLIENT, Read, Style, read_file, read_folder
from fedkin.data.source import Array, Source, labelled
from fedkin.data.source import text as as_labels

TableTask = Literal["auto", "classification", "regression"]


def read_table(
    path: Path,
    *,
    client: str | None = None,
    label: str = "label",
    task: TableTask = "auto",
    scale: Scale = "standard",
    drop: Sequence[str] = (),
    categorical: Sequence[str] = (),
    text: Sequence[str] = (),
    group: str | None = None,
    most: int = 100,
    unlabeled: Literal["refuse", "drop"] = "refuse",
    separator: str = ",",
    decimal: str = ".",
    encoding: str = "utf-8",
) -> Source:
    """A Source from a table (.csv, .parquet, .arrow), or from a folder with a table for each client.

    Its x are the cells [n, columns], nan where one is missing, and ``Source.columns`` says what they mean; ``build``
    encodes them when it knows which rows are for training. ``drop``: columns to leave out. ``categorical``, ``text``:
    columns of categories and of texts (other columns of words are categories by themselves). ``group``: a column whose
    equal values (a patient) stay in one split. ``scale``, ``most``: as in ``Recipe``. ``unlabeled="drop"`` leaves rows
    without a label out, and says how many.

    ``task="auto"``: a label column with a fraction in it is regression; text, booleans and whole numbers are classes,
    numbered in sorted order (``class_names`` keeps the values).
    Raises FedkinError with file, line and column for anything that cannot be read as it stands.
    """
    if task not in ("auto", "classification", "regression"):
        raise FedkinError(f"task={task!r} is not known: use 'auto', 'classification' or 'regression'")
    if scale not in ("none", "standard"):
        raise FedkinError(f"scale={scale!r} is not known: use 'none' or 'standard'")
    if isinstance(most, bool) or not isinstance(most, int) or most < 1:
        raise FedkinError(f"data.most={most!r} must be a whole number of at least 1")
    lists = {"drop": _list("drop", drop), "categorical": _list("categorical", categorical), "text": _list("text", text)}
    named = [name for name in (client, group) if name is not None]
    style = Style((*named, *lists["categorical"], *lists["text"]), separator, decimal, encoding)
    folder = path.is_dir()
    if folder and client is not None:
        raise FedkinError(f"{path} is a folder, whose files are the clients: leave out data.client={client!r}")
    read = read_folder(path, style) if folder else read_file(path, style)
    client = CLIENT if folder else client
    _columns_there(read, path, label, client, lists, group)
    read = _labeled(read, label, unlabeled)
    for name in (label, *(one for one in (client, group) if one)):
        _filled(read.frame[name], read.place)
    wanted = [name for name in read.frame.columns if name not in (label, client, group, *lists["drop"])]
    if not wanted:
        raise FedkinError(f"{path} has no feature columns besides {label!r}: add some")
    asked = dict.fromkeys(lists["categorical"], "category") | dict.fromkeys(lists["text"], "text")
    found = [cells_of(read.frame[name], read.place, asked.get(name, "auto")) for name in wanted]
    y, names = _labels(read.frame[label], task, read.place)
    return labelled(
        path.stem,
        np.stack([each.cells for each in found], axis=1),
        y,
        where=str(path),
        class_names=names,
        client=None if client is None else _clients(read.frame[client]),
        truth={} if group is None else {group: _groups(read.frame[group])},
    )._replace(
        columns=Recipe(tuple(each.column for each in found), scale, most),
        group=group,
        said=(*read.said, *([f"columns left out: {', '.join(lists['drop'])}"] if lists["drop"] else [])),
    )


def numbers_only(source: Source, where: str) -> Array:
    """The cells of a table of which all columns are numbers and no cell is missing: such a one needs no encoding."""
    assert source.columns is not None
    for at, column in enumerate(source.columns.columns):
        if column.values:
            raise FedkinError(
                f"{where}: column {column.name!r} holds {column.values[0][:40]!r}, which is not a number: "
                "turn text into numbers, or leave the column out"
            )
        missing = np.flatnonzero(np.isnan(source.x[:, at]))
        if len(missing):
            raise FedkinError(f"{where}: column {column.name!r} is empty in row {missing[0]}: fill it")
    return source.x


def _list(key: str, names: Any) -> tuple[str, ...]:
    if isinstance(names, str):
        names = [names]
    if not isinstance(names, Sequence) or not all(isinstance(name, str) for name in names):
        raise FedkinError(f"data.{key}={names!r} must be a list of column names")
    return tuple(names)


def _columns_there(
    read: Read, path: Path, label: str, client: str | None, lists: dict[str, tuple[str, ...]], group: str | None
) -> None:
    columns = list(read.frame.columns)
    roles = [("label", label), ("client", client), ("group", group)]
    roles += [(role, name) for role, names in lists.items() for name in names]
    for role, name in roles:
        if name is not None and name not in columns:
            raise _missing(path, role, name, columns)


def _missing(path: Path, role: str, name: str, columns: list[str]) -> FedkinError:
    near = get_close_matches(name, columns, n=1, cutoff=0.6)
    hint = f": did you mean {near[0]!r}? Name" if near else ": name"
    remedy = f"{hint} it with --set data.{role}=COLUMN"
    more = f", … {len(columns)} in all" if len(columns) > 12 else ""
    return FedkinError(f"{path} has no {role} column {name!r}{remedy} (columns: {', '.join(columns[:12])}{more})")


def _labeled(read: Read, label: str, unlabeled: str) -> Read:
    """The rows with a label. Without being asked, none is left out."""
    if unlabeled not in ("refuse", "drop"):
        raise FedkinError(f"data.unlabeled={unlabeled!r} is not known: use 'refuse' or 'drop'")
    empty = np.flatnonzero(read.frame[label].isna().to_numpy())
    if not len(empty):
        return read
    if unlabeled == "refuse":
        more = f", as are {len(empty) - 1} more" if len(empty) > 1 else ""
        raise FedkinError(
            f"{read.place(int(empty[0]))}: column {label!r} is empty{more}: fill it, or leave rows without a label out "
            "with --set data.unlabeled=drop"
        )
    kept = np.flatnonzero(read.frame[label].notna().to_numpy())
    if not len(kept):
        raise FedkinError(f"{read.place(0)}: column {label!r} is empty in all rows")
    said = f"{len(empty):,} of {len(read.frame):,} rows have no label and are left out"
    return Read(
        read.frame.iloc[kept].reset_index(drop=True), lambda row: read.place(int(kept[row])), (*read.said, said)
    )


def _filled(column: "pd.Series[Any]", place: Place) -> None:
    empty = np.flatnonzero(column.isna().to_numpy())
    if len(empty):
        more = f", as are {len(empty) - 1} more" if len(empty) > 1 else ""
        raise FedkinError(f"{place(int(empty[0]))}: column {column.name!r} is empty{more}: fill it")


def _labels(column: "pd.Series[Any]", task: TableTask, place: Place) -> tuple[Array, tuple[str, ...]]:
    """Regression targets as float64 without names, or class numbers with the sorted values as names."""
    fractional = pd.api.types.is_float_dtype(column) and bool((column % 1 != 0).any())
    if task == "regression" or (task == "auto" and fractional):
        found: Cells = cells_of(column, place)
        bad = np.flatnonzero(np.isnan(found.cells))
        if found.column.values or len(bad):
            at = int(bad[0]) if len(bad) else 0
            raise FedkinError(
                f"{place(at)}: column {column.name!r} holds {str(column.iloc[at])[:40]!r}, which is not a number: "
                "regression needs numbers, set data.task=classification for classes"
            )
        return found.cells.astype(np.float64), ()
    if pd.api.types.is_float_dtype(column) and not fractional and float(column.abs().max()) < 2**63:
        column = column.astype("int64")
    plain = pd.api.types.is_integer_dtype(column) or pd.api.types.is_float_dtype(column)
    values, numbers = np.unique(
        column.to_numpy() if plain else column.astype(str).to_numpy(dtype=str), return_inverse=True
    )
    return numbers.astype(np.int64), tuple(str(value) for value in values)


def _clients(column: "pd.Series[Any]") -> Array:
    """Client labels, as integers where the file's type is integer, otherwise as text."""
    whole = pd.api.types.is_integer_dtype(column)
    return as_labels(column.to_numpy() if whole else column.astype(str).to_numpy(dtype=str))


def _groups(column: "pd.Series[Any]") -> Array:
    return pd.factorize(column)[0].astype(np.int64)
