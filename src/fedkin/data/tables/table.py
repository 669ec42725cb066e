"""Tables as a Source: one row a sample, a label column, perhaps a client column; the others are
what models see.
"""

import re
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd

from fedkin.core.errors import FedkinError, some
from fedkin.data.arrays import Array
from fedkin.data.arrays import text as as_labels
from fedkin.data.formats.frames import CLIENT, Read, Style, read_file, read_folder
from fedkin.data.source import Source, labelled
from fedkin.data.tables.columns import MISSING, Cells, Place, Recipe, cells_of
from fedkin.data.tables.encoding import Scale
from fedkin.data.tables.schema import LISTS, Names, Publicity, Roles, as_asked, listed

WHOLE = re.compile(r"0|-?[1-9][0-9]{0,17}")  # 007 is a name

TableTask = Literal["auto", "classification", "regression"]


def read_table(
    path: Path,
    publicity: Publicity = "private",
    *,
    client: str | None = None,
    label: str = "label",
    task: TableTask = "auto",
    scale: Scale = "standard",
    drop: Names = (),
    categorical: Names = (),
    text: Names = (),
    group: str | None = None,
    most: int = 100,
    unlabeled: Literal["refuse", "drop"] = "refuse",
    about: Names = (),
    separator: str = ",",
    decimal: str = ".",
    encoding: str = "utf-8",
) -> Source:
    """``table_source`` of one table (.csv, .parquet, .arrow), or of a folder with a table for each
    client.
    """
    folder = path.is_dir()
    if folder and client is not None and publicity == "private":
        raise FedkinError(
            f"{path} is a folder, whose files are the clients: leave out data.client={client!r}"
        )
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
    )
    style = Style(_spelled(roles), separator, decimal, encoding)
    read = read_folder(path, style) if folder else read_file(path, style)
    return table_source(
        read, path.stem, str(path), roles._replace(client=CLIENT) if folder else roles
    )


def table_source(read: Read, name: str, where: str, roles: Roles) -> Source:
    """A Source from rows. Its x are the cells [n, columns], nan where one is missing, and
    ``Source.columns`` says what they mean; ``build`` encodes them when it knows which rows are for
    training.

    ``drop``: columns to leave out. ``categorical``, ``text``: columns of categories and of texts
    (other columns of words are categories by themselves). ``group``: a column whose equal values (a
    patient) stay in one split. ``about``: columns that models do not see, kept in ``truth``.
    ``scale``, ``most``: as in ``Recipe``. ``unlabeled="drop"`` leaves rows without a label out, and
    says how many. ``task="auto"``: a label column with a fraction in it is regression; text,
    booleans and whole numbers are classes, numbered in sorted order (``class_names`` keeps the
    values). Raises FedkinError with file, line and column for anything that cannot be read as it
    stands.
    """
    _choices(roles)
    read, roles = as_asked(read, where, roles)
    lists = {key: listed(key, getattr(roles, key)) for key in LISTS}
    label, client, group = roles.label, roles.client, roles.group
    _columns_there(read, where, roles, lists)
    read = labeled(read, label, roles.unlabeled)
    for role in (label, *(one for one in (client, group) if one)):
        _filled(read.frame[role], read.place)
    wanted = [
        column
        for column in read.frame.columns
        if column not in (label, client, group, *lists["drop"], *lists["about"])
    ]
    if not wanted:
        raise FedkinError(f"{where} has no feature columns besides {label!r}: add some")
    asked = dict.fromkeys(lists["categorical"], "category") | dict.fromkeys(lists["text"], "text")
    found = [
        cells_of(read.frame[column], read.place, asked.get(column, "auto")) for column in wanted
    ]
    y, names = labels_of(read.frame[label], roles.task, read.place)
    return labelled(
        name,
        np.stack([each.cells for each in found], axis=1),
        y,
        where=where,
        class_names=names,
        client=None if client is None else _clients(read.frame[client]),
        truth={
            **({} if group is None else {group: _groups(read.frame[group])}),
            **_about(read, lists["about"]),
        },
    )._replace(
        columns=Recipe(tuple(each.column for each in found), roles.scale, roles.most),
        group=group,
        said=(
            *read.said,
            *([f"columns left out: {', '.join(lists['drop'])}"] if lists["drop"] else []),
        ),
    )


def _choices(roles: Roles) -> None:
    if roles.task not in ("auto", "classification", "regression"):
        raise FedkinError(
            f"task={roles.task!r} is not known: use 'auto', 'classification' or 'regression'"
        )
    if roles.scale not in ("none", "standard"):
        raise FedkinError(f"scale={roles.scale!r} is not known: use 'none' or 'standard'")
    if isinstance(roles.most, bool) or not isinstance(roles.most, int) or roles.most < 1:
        raise FedkinError(f"data.most={roles.most!r} must be a whole number of at least 1")


def _spelled(roles: Roles) -> tuple[str, ...]:
    """Columns whose cells are taken as they are written: "007" is not 7."""
    named = [name for name in (roles.client, roles.group) if name is not None]
    return (*named, *listed("categorical", roles.categorical), *listed("text", roles.text))


def numbers_only(source: Source, where: str) -> Array:
    """The cells of a table of which all columns are numbers and no cell is missing: such a one
    needs no encoding.
    """
    assert source.columns is not None
    for at, column in enumerate(source.columns.columns):
        if column.values:
            raise FedkinError(
                f"{where}: column {column.name!r} holds {column.values[0][:40]!r}, which is "
                "not a number: "
                "turn text into numbers, or leave the column out"
            )
        missing = np.flatnonzero(np.isnan(source.x[:, at]))
        if len(missing):
            raise FedkinError(
                f"{where}: column {column.name!r} is empty in row {missing[0]}: fill it"
            )
    return source.x


def _about(read: Read, names: tuple[str, ...]) -> dict[str, Array]:
    """Columns that tell of a row without being seen by models: as text."""
    for name in names:
        _filled(read.frame[name], read.place)
    return {name: read.frame[name].astype(str).to_numpy(dtype=str) for name in names}


def _columns_there(read: Read, where: str, roles: Roles, lists: dict[str, tuple[str, ...]]) -> None:
    columns = [str(name) for name in read.frame.columns]
    wanted = [("label", roles.label), ("client", roles.client), ("group", roles.group)]
    wanted += [(role, name) for role, names in lists.items() for name in names]
    for role, name in wanted:
        if name is not None and name not in columns:
            raise _missing(where, role, name, columns)


def _missing(where: str, role: str, name: str, columns: list[str]) -> FedkinError:
    near = get_close_matches(name, columns, n=1, cutoff=0.6)
    hint = f": did you mean {near[0]!r}? Name" if near else ": name"
    remedy = f"{hint} it with --set data.{role}=COLUMN"
    return FedkinError(
        f"{where} has no {role} column {name!r}{remedy} (columns: {some(columns, 12)})"
    )


def labeled(read: Read, label: str, unlabeled: str) -> Read:
    """The rows with a label. Without being asked, none is left out."""
    if unlabeled not in ("refuse", "drop"):
        raise FedkinError(f"data.unlabeled={unlabeled!r} is not known: use 'refuse' or 'drop'")
    gaps = gaps_of(read.frame[label])
    empty = np.flatnonzero(gaps)
    if not len(empty):
        return read
    if unlabeled == "refuse":
        raise FedkinError(
            f"{gap_told(read.frame[label], empty, read.place)}: fill it, or leave rows "
            "without a label out "
            "with --set data.unlabeled=drop"
        )
    kept = np.flatnonzero(~gaps)
    if not len(kept):
        raise FedkinError(f"{read.place(0)}: column {label!r} is empty in all rows")
    said = f"{len(empty):,} of {len(read.frame):,} rows have no label and are left out"
    frame = read.frame.iloc[kept].reset_index(drop=True)
    numbers = pd.to_numeric(frame[label], errors="coerce")
    if numbers.notna().all():  # read as words because of a gap's mark
        frame[label] = numbers
    return Read(frame, lambda row: read.place(int(kept[row])), (*read.said, said))


def _filled(column: "pd.Series[Any]", place: Place) -> None:
    empty = np.flatnonzero(_blank(column))  # "NA" may be a site's name
    if len(empty):
        raise FedkinError(f"{gap_told(column, empty, place)}: fill it")


def gaps_of(column: "pd.Series[Any]") -> Array:
    """Which cells of a label's column hold nothing: empty ones, and what stands for that in columns
    of numbers.
    """
    gaps: Array = _blank(column) | column.isin(sorted(MISSING)).to_numpy()
    return gaps


def _blank(column: "pd.Series[Any]") -> Array:
    """Cells with nothing in them, or with spaces only."""
    found: Array = column.isna().to_numpy(copy=True)
    if pd.api.types.is_numeric_dtype(column) or pd.api.types.is_datetime64_any_dtype(column):
        return found
    codes, distinct = pd.factorize(column)
    spaces = np.array(
        [*(isinstance(value, str) and not value.strip() for value in distinct), False]
    )
    found |= spaces[codes]
    return found


def gap_told(column: "pd.Series[Any]", empty: Array, place: Place) -> str:
    first = int(empty[0])
    what = (
        "is empty"
        if pd.isna(column.iloc[first]) or not str(column.iloc[first]).strip()
        else f"holds {column.iloc[first]!r}, which stands for nothing"
    )
    more = f", as are {len(empty) - 1} more" if len(empty) > 1 else ""
    return f"{place(first)}: column {column.name!r} {what}{more}"


def labels_of(column: "pd.Series[Any]", task: str, place: Place) -> tuple[Array, tuple[str, ...]]:
    """Regression targets as float64 without names, or class numbers with the sorted values as
    names.
    """
    fractional = pd.api.types.is_float_dtype(column) and bool((column % 1 != 0).any())
    if task == "regression" or (task == "auto" and fractional):
        found: Cells = cells_of(column, place)
        bad = np.flatnonzero(np.isnan(found.cells))
        if found.column.values or len(bad):
            at = int(bad[0]) if len(bad) else 0
            raise FedkinError(
                f"{place(at)}: column {column.name!r} holds {str(column.iloc[at])[:40]!r}, "
                "which is not a number: "
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
    """Client labels, which stand in their order: integers, also where a CSV has them as text;
    otherwise text.
    """
    if pd.api.types.is_integer_dtype(column):
        return as_labels(column.to_numpy())
    texts = column.astype(str)
    names, codes = np.unique(texts.to_numpy(dtype=str), return_inverse=True)
    if all(WHOLE.fullmatch(name) for name in names):
        return as_labels(names.astype(np.int64)[codes])
    return as_labels(names[codes])


def _groups(column: "pd.Series[Any]") -> Array:
    return pd.factorize(column)[0].astype(np.int64)
