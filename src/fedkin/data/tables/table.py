"""Tables as a Source: one row a sample, a label column, perhaps a client column; the others are
what models see.
"""

import re
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd

from fedkin.core.errors import FedkinError, some
from fedkin.data.arrays import Array, Mask
from fedkin.data.arrays import text as as_labels
from fedkin.data.formats.frames import CLIENT, Read, Style, places_in, read_file, read_folder
from fedkin.data.quality.problem import Problem, Unreadable
from fedkin.data.source import Publicity, Source, labelled
from fedkin.data.tables.clean import unified, with_gaps, without_repeats
from fedkin.data.tables.columns import Cells, Place, cells_of
from fedkin.data.tables.encoding import Scale
from fedkin.data.tables.gaps import filled, labeled
from fedkin.data.tables.kinds import as_text
from fedkin.data.tables.nested import nested_in, refuse_nested
from fedkin.data.tables.recipe import Recipe
from fedkin.data.tables.schema import LISTS, Missing, Names, Roles, as_asked, listed

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
    missing: Missing = (),
    unify: Names = (),
    duplicates: Literal["keep", "drop"] = "keep",
    separator: str = ",",
    decimal: str = ".",
    encoding: str = "utf-8",
) -> Source:
    """``table_source`` of one table (.csv, .parquet, .arrow), or of a folder with a table for each
    client.

    Args:
        path: A file, or a folder of files.
        publicity: Whether it is the private table, or a public one with or without labels.
        client: The column that names each row's client.
        label: The column to predict.
        task: "classification", "regression", or "auto".
        scale: "standard" or "none", of columns of numbers.
        drop: Columns to leave out.
        categorical: Columns whose cells are categories.
        text: Columns whose cells are texts.
        group: A column whose equal values stay in one split.
        most: Categories, or words, that a column may have.
        unlabeled: "refuse" or "drop": what becomes of rows without a label.
        about: Columns that are kept in ``truth`` and that no model sees.
        missing: Cells that stand for nothing: a list, or a list for each column.
        unify: Columns whose spellings become one.
        duplicates: "keep" or "drop", of equal rows.
        separator: What stands between cells (.csv).
        decimal: What stands before a fraction (.csv).
        encoding: Of the file's bytes (.csv).

    Returns:
        The Source of its cells.

    Raises:
        FedkinError: It cannot be read as it stands; names file, line and column.
    """
    folder = path.is_dir()
    if folder and client is not None and publicity == "private":
        raise FedkinError(
            f"{path} is a folder, whose files are the clients: leave out data.client={client!r}"
        )
    roles = Roles(
        client=client,
        label=label,
        task=task,
        scale=scale,
        drop=drop,
        categorical=categorical,
        text=text,
        group=group,
        most=most,
        unlabeled=unlabeled,
        about=about,
        publicity=publicity,
        missing=missing,
        unify=unify,
        duplicates=duplicates,
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
    values).

    Args:
        read: The rows.
        name: Of the data set.
        where: The file, for messages.
        roles: The keys of [data].

    Returns:
        A Source: x [n, columns] of cells, nan for gaps; y [n]; ``columns`` says how to encode.

    Raises:
        FedkinError: It cannot be read as it stands; names file, line and column.
    """
    check_choices(roles)
    read, roles = as_asked(read, where, roles)
    lists = {key: listed(key, getattr(roles, key)) for key in LISTS}
    label, client, group = roles.label, roles.client, roles.group
    check_columns_there(read, where, roles, lists)
    roles_of = [one for one in (label, client, group) if one]
    unseen = {*roles_of, *lists["drop"], *lists["about"]}
    wanted = [column for column in read.frame.columns if column not in unseen]
    refuse_nested(read, wanted, roles_of)
    read = unified(with_gaps(read, where, roles), lists["unify"])
    read = labeled(read, label, roles.unlabeled, label in lists["categorical"])
    for role in roles_of:
        filled(read.frame[role], read.place, role == client)
    if not wanted:
        raise FedkinError(f"{where} has no feature columns besides {label!r}: add some")
    read = without_repeats(read, [label, *wanted], roles.duplicates)
    asked = dict.fromkeys(lists["categorical"], "category") | dict.fromkeys(lists["text"], "text")
    each_column = _all_cells(read, wanted, asked)
    y, names = labels_of(read.frame[label], roles.task, read.place)
    return labelled(
        name,
        np.stack([each.cells for each in each_column], axis=1),
        y,
        where=where,
        class_names=names,
        client=None if client is None else _clients(read.frame[client], where),
        official_test=official_of(read),
        truth={
            **({} if group is None else {group: groups_of(read.frame[group])}),
            **about_of(read, lists["about"]),
        },
    )._replace(
        columns=Recipe(tuple(each.column for each in each_column), roles.scale, roles.most),
        group=group,
        said=(
            *read.said,
            *([f"columns left out: {', '.join(lists['drop'])}"] if lists["drop"] else []),
        ),
    )


def _all_cells(read: Read, wanted: Sequence[str], asked: Mapping[str, str]) -> list[Cells]:
    """The cells of all columns; where some cannot be read, the faults of all of them at once."""
    all_cells: list[Cells] = []
    faults: list[Unreadable] = []
    for column in wanted:
        try:
            all_cells.append(cells_of(read.frame[column], read.place, asked.get(column, "auto")))
        except Unreadable as error:
            faults.append(error)
    if faults:
        raise Unreadable([one for error in faults for one in error.problems], str(faults[0]))
    return all_cells


def check_choices(roles: Roles) -> None:
    """Refuses a value of a key that has no such value.

    Args:
        roles: The keys of [data].

    Raises:
        FedkinError: Of ``task``, ``scale`` or ``most``.
    """
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


def numbers_only(source: Source, path: Path) -> Array:
    """The cells of a table of which all columns are numbers and no cell is missing: such a one
    needs no encoding.

    Args:
        source: Of a table, with all its rows in their order.
        path: Its file, for messages.

    Returns:
        float32 [n, columns].

    Raises:
        FedkinError: A column of text, or a missing cell.
    """
    assert source.columns is not None
    for at, column in enumerate(source.columns.columns):
        cells = source.x[:, at]
        if column.values:
            words = [k for k, text in enumerate(column.values) if not is_number(text)] or [0]
            row = int(np.flatnonzero(np.isin(cells, words))[0])
            raise FedkinError(
                f"{places_in(path, Style())(row)}: column {column.name!r} holds "
                f"{column.values[int(cells[row])][:40]!r}, which is not a number: "
                "turn text into numbers, or leave the column out"
            )
        missing = np.flatnonzero(np.isnan(cells))
        if len(missing):
            where = places_in(path, Style())(int(missing[0]))
            raise FedkinError(f"{where}: column {column.name!r} is empty: fill it")
    return source.x.astype(np.float32)


def is_number(text: str) -> bool:
    """Whether a cell is a number of any kind, as pandas reads them: 1_0 is none.

    Args:
        text: Of the cell.

    Returns:
        True for "nan" and "inf" as well.
    """
    try:
        float(text)
    except ValueError:
        return False
    return text.isascii() and "_" not in text


def official_of(read: Read) -> Mask | None:
    """Which of the rows that are left are official test rows.

    Args:
        read: The rows.

    Returns:
        bool [n]; None where all are, or none.
    """
    return read.test if read.test is not None and len(np.unique(read.test)) == 2 else None


def about_of(read: Read, names: tuple[str, ...]) -> dict[str, Array]:
    """Columns that tell of a row without being seen by models: as text.

    Args:
        read: The rows.
        names: Of the columns.

    Returns:
        Name → str [n].

    Raises:
        FedkinError: A cell is empty.
    """
    for name in names:
        filled(read.frame[name], read.place)
    return {name: read.frame[name].astype(str).to_numpy(dtype=str) for name in names}


def check_columns_there(
    read: Read, where: str, roles: Roles, lists: dict[str, tuple[str, ...]]
) -> None:
    """Refuses the name of a column that is not there.

    Args:
        read: The rows.
        where: The file, for messages.
        roles: The keys of [data].
        lists: Key → names, of the keys that hold several.

    Raises:
        FedkinError: Names the column, and the nearest one; or one that is left out and yet has
            a role, or is both label and client.
    """
    columns = [str(name) for name in read.frame.columns]
    there = set(columns)
    used = [("label", roles.label), ("client", roles.client), ("group", roles.group)]
    listed = [(role, name) for role, names in lists.items() for name in names]
    for role, name in used + listed:
        if name is not None and name not in there:
            theirs = [column for column in columns if column not in read.added]
            raise _missing(where, role, name, theirs)
    if roles.client is not None and roles.client == roles.label:
        raise FedkinError(
            f"{where}: column {roles.label!r} is named by data.label and by data.client: every "
            "client would have one label alone; name another column by one of both"
        )
    for role, name in used[:2]:  # a group is no feature anyway, so that it may be dropped
        if name is not None and name in lists.get("drop", ()):
            raise FedkinError(
                f"{where}: column {name!r} is named by data.drop and by data.{role}: leave it out "
                "of one"
            )


def _missing(where: str, role: str, name: str, columns: list[str]) -> FedkinError:
    near = get_close_matches(name, columns, n=1, cutoff=0.6)
    hint = f": did you mean {near[0]!r}? Name" if near else ": name"
    remedy = f"{hint} it with --set data.{role}=COLUMN"
    sentence = f"{where} has no {role} column {name!r}{remedy} (columns: {some(columns, 12)})"
    if not near or role in LISTS:
        return FedkinError(sentence)
    says, why = f"{where} has no {role} column {name!r}", f"{near[0]!r} is taken, which is nearest"
    return Unreadable(
        [Problem("column", says, why, {f"data.{role}": near[0]}, None, (near[0],))], sentence
    )


def labels_of(column: "pd.Series[Any]", task: str, place: Place) -> tuple[Array, tuple[str, ...]]:
    """Regression targets as float64 without names, or class numbers with the sorted values as
    names.

    Args:
        column: The label's, without gaps.
        task: "classification", "regression", or "auto".
        place: Row → where it stands, in words.

    Returns:
        (y [n], class names).

    Raises:
        FedkinError: Regression is asked for, and a cell is no number; or cells are lists.
    """
    if what := nested_in(column):
        raise FedkinError(f"{place(0)}: column {column.name!r} holds {what}: a label is one value")
    fractional = pd.api.types.is_float_dtype(column) and bool((column % 1 != 0).any())
    if task == "regression" or (task == "auto" and fractional):
        labels: Cells = cells_of(column, place)
        bad = np.flatnonzero(np.isnan(labels.cells))
        if labels.column.values or len(bad):
            at = int(bad[0]) if len(bad) else 0
            raise FedkinError(
                f"{place(at)}: column {column.name!r} holds {str(column.iloc[at])[:40]!r}, "
                "which is not a number: "
                "regression needs numbers, set data.task=classification for classes"
            )
        return labels.cells, ()
    if pd.api.types.is_float_dtype(column) and not fractional and float(column.abs().max()) < 2**63:
        column = column.astype("int64")
    plain = pd.api.types.is_integer_dtype(column) or pd.api.types.is_float_dtype(column)
    if pd.api.types.is_object_dtype(column):
        column = as_text(column)
    values, numbers = np.unique(
        column.to_numpy() if plain else column.astype(str).to_numpy(dtype=str), return_inverse=True
    )
    return numbers.astype(np.int64), tuple(str(value) for value in values)


def _clients(column: "pd.Series[Any]", where: str) -> Array:
    """Client labels, which stand in their order: integers, also where a CSV has them as text;
    otherwise text.
    """
    what = f"{where}: column {column.name!r}"
    if pd.api.types.is_integer_dtype(column):
        return as_labels(column.to_numpy(), what)
    texts = column.astype(str)
    names, codes = np.unique(texts.to_numpy(dtype=str), return_inverse=True)
    if all(WHOLE.fullmatch(name) for name in names):
        return as_labels(names.astype(np.int64)[codes], what)
    return as_labels(names[codes], what)


def groups_of(column: "pd.Series[Any]") -> Array:
    """A number for each cell, equal for equal ones: [n], from 0; −1 for gaps.

    Args:
        column: [n] names of groups.

    Returns:
        int64 [n].
    """
    return pd.factorize(column)[0].astype(np.int64)
