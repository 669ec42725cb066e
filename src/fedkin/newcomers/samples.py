"""The file of one client that was not in a run, as the run's own data are."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch

from fedkin.core.errors import FedkinError, some
from fedkin.core.files import near_path
from fedkin.core.rng import Key
from fedkin.data.arrays import Array, class_labels, targets
from fedkin.data.formats.array_names import check_own, said_of
from fedkin.data.formats.frames import SUFFIXES, Read, read_file
from fedkin.data.formats.npz import divided, is_whole, load_arrays, names_in
from fedkin.data.holdout import Fractions
from fedkin.data.population import SPLITS, Population
from fedkin.data.population_builder import DUPLICATES
from fedkin.data.sources import load
from fedkin.data.tables.clean import without_repeats
from fedkin.data.tables.duplicate_rows import same_rows
from fedkin.data.tables.gaps import gap_sentence, gaps_of, labeled
from fedkin.data.tables.kinds import keep_as_text
from fedkin.data.tables.new_rows import SPELLED, encoded, read_later, style
from fedkin.data.tables.table import groups_of, labels_of, numbers_only
from fedkin.newcomers.arrays import as_in_the_run
from fedkin.newcomers.division import SPLIT, division_of, parts_of

PARTED = "rows that belong together may be parted"


class TableLayout(NamedTuple):
    """What the run says of its data: columns, options of its source, and how clients' samples are
    divided. ``group``: rows of equal values in this column stay in one part; "duplicates": equal
    samples do.
    """

    label: str
    client: str | None
    options: Mapping[str, Any]
    fractions: Fractions
    group: str | None = None


class Rows(NamedTuple):
    """A file's samples. division: "train", "val" or "test" for each row, where the file says so;
    group: what of its rows stays together.
    """

    x: Array
    y: Array
    division: Array | None = None
    said: tuple[str, ...] = ()
    group: Array | None = None


def read_newcomer(path: Path, like: Population, layout: TableLayout, key: Key) -> Population:
    """One client's samples. Columns and classes are those of ``like``; what a file does not divide,
    the key does.

    .npz: x, y, or x_train, y_train and, where there are any, x_val, … x_test. Tables: the run's
    columns and label, and perhaps a column "split" with train, val or test.

    Args:
        path: The file: .npz or a table.
        like: The run's population.
        layout: What the run says of its data.
        key: Draws which rows train, choose and test.

    Returns:
        A population of one client, called as the file.

    Raises:
        FedkinError: The file is not there, of another kind, without labels, or of other columns,
            shapes or classes than the run's.
    """
    if not path.exists():
        raise FedkinError(f"{path} does not exist{near_path(path) or ': check the path'}")
    if not path.is_file() or path.suffix.lower() not in READERS:
        raise FedkinError(
            f"{path} is none of the files that a newcomer brings: {', '.join(READERS)}"
        )
    read = READERS[path.suffix.lower()]
    x, y, division, remarks, group = read(path, like, layout)
    if layout.group == DUPLICATES:
        group = same_rows(x, y)
    rows = parts_of(len(y), division, group, layout.fractions, key, path)
    return Population(
        name=path.stem,
        x=torch.from_numpy(_shaped(x, like, path)),
        y=torch.from_numpy(y),
        classes=like.classes,
        task=like.task,
        train=(rows[0],),
        val=(rows[1],),
        test=(rows[2],),
        names=(path.stem,),
        class_names=like.class_names,
        encoding=like.encoding,
        said=remarks,
    )


def _arrays(path: Path, like: Population, layout: TableLayout) -> Rows:
    arrays = load_arrays(path)
    if is_whole(arrays, path):
        unread = _unread(arrays, like, layout, path)
        x = as_in_the_run(arrays["x"], like, str(path))
        group, remarks = _group_of_arrays(arrays, len(x), layout, path)
        rows = _checked(x, _as_named(arrays["y"], arrays, like, path), like, path, None)
        return rows._replace(said=(*remarks, *unread), group=group)
    x, y, sizes = divided(
        arrays, path, SPLITS, "it holds x and y, or x_train, y_train and perhaps val and test"
    )
    unread = _unread(arrays, like, layout, path)
    division = np.repeat(list(sizes), list(sizes.values()))
    y = _as_named(y, arrays, like, path)
    rows = _checked(as_in_the_run(x, like, str(path)), y, like, path, division)
    return rows._replace(said=unread)


def _unread(
    arrays: Mapping[str, Array], like: Population, layout: TableLayout, path: Path
) -> tuple[str, ...]:
    """What is said of arrays that nothing reads, but those beside the run's own samples; one that
    is meant for another is refused.
    """
    apart = ("client_name", "x_val", "y_val", _column(layout), *like.truth)
    names = [name for name in arrays if name not in apart]
    check_own(names, path, unlabeled=False)
    return said_of(names, (), unlabeled=False)


def _as_named(y: Array, arrays: dict[str, Array], like: Population, path: Path) -> Array:
    """Class numbers of the run by the file's own names of classes; equal numbers are equal classes
    where the file or the run has none.
    """
    names, ours = names_in(arrays, path), like.class_names
    if like.task == "regression" or not names or not (ours or all(map(str.isdecimal, names))):
        return y
    there, numbers = np.unique(class_labels(y, len(names), str(path))[0], return_inverse=True)
    return _labels(numbers.ravel(), tuple(names[label] for label in there), like, path)


def _group_of_arrays(
    arrays: Mapping[str, Array], n: int, layout: TableLayout, path: Path
) -> tuple[Array | None, tuple[str, ...]]:
    """As ``_grouped``, of the array of the group's name."""
    name = _column(layout)
    if name is None:
        return None, ()
    if name not in arrays:
        return None, (f"{path} lacks the array {name!r}: {PARTED}",)
    if arrays[name].shape != (n,):
        raise FedkinError(
            f"{path}: {name} has shape {list(arrays[name].shape)} for {n} rows: give one entry a "
            "row"
        )
    return np.unique(arrays[name], return_inverse=True)[1], ()


def _table(path: Path, like: Population, layout: TableLayout) -> Rows:
    if like.encoding is None:
        return _table_of_numbers(path, like, layout)
    used = {feature.name for feature in like.encoding.features}
    aside = (SPLIT, layout.client, _column(layout))
    apart = [name for name in aside if name is not None and name not in used]
    spelled = [layout.label] if keep_as_text(like.class_names) else []
    read = read_later(path, like.encoding, layout.options, [*apart, *spelled])
    if layout.label not in read.frame.columns:
        raise FedkinError(
            f"{path} lacks the column {layout.label!r}: a newcomer learns from labels"
        )
    gaps = np.flatnonzero(gaps_of(read.frame[layout.label]))
    if len(gaps) and layout.options.get("unlabeled") != "drop":
        faults = gap_sentence(read.frame[layout.label], gaps, read.place)
        raise FedkinError(f"{faults}: fill it, or take rows without a label out of the file")
    read = labeled(read, layout.label, "drop", bool(spelled))
    duplicates = layout.options.get("duplicates", "keep")
    read = without_repeats(read, [layout.label, *sorted(used)], duplicates)
    if layout.client in read.frame.columns:
        named = read.frame[layout.client]
        known = named[~gaps_of(named)].astype(str).to_numpy(dtype=str)
        _one_client(known, str(layout.client), path)
    division = division_of(read) if SPLIT in apart and SPLIT in read.frame else None
    group, without = _grouped(read, layout, path)
    x, remarks = encoded(read, like.encoding, [layout.label, *apart])
    y, names = labels_of(read.frame[layout.label], like.task, read.place)
    rows = _checked(x, _labels(y, names, like, path), like, path, division)
    return rows._replace(said=(*remarks, *without), group=group)


def _column(layout: TableLayout) -> str | None:
    return None if layout.group == DUPLICATES else layout.group


def _grouped(read: Read, layout: TableLayout, path: Path) -> tuple[Array | None, tuple[str, ...]]:
    """(a number a row, equal for those that stay in one part; what is to be said of it)."""
    name = _column(layout)
    if name is None:
        return None, ()
    if name not in read.frame.columns:
        return None, (f"{path} lacks the column {name!r}: {PARTED}",)
    return groups_of(read.frame[name]), ()


def _table_of_numbers(path: Path, like: Population, layout: TableLayout) -> Rows:
    """Arrays written as a table: the run itself was given none, so there is no encoding."""
    spelled = {key: str(layout.options[key]) for key in SPELLED if key in layout.options}
    read = read_file(path, style(layout.options))
    columns = [str(name) for name in read.frame.columns]
    if layout.label not in columns:
        shape = " × ".join(str(size) for size in like.x.shape[1:])
        raise FedkinError(
            f"{path} lacks the column {layout.label!r}: a newcomer learns from labels. The run was "
            f"given arrays, a sample has {shape} numbers: such a table has a column for each and "
            f"{layout.label!r}; an .npz file has x and y"
        )
    if SPLIT in columns:
        division_of(read)  # its empty cells are told here: ``load`` takes the column for clients
    aside = next((name for name in (SPLIT, layout.client) if name in columns), None)
    name = _column(layout)
    grouped = {"group": name} if name in columns else {}
    task = "regression" if like.task == "regression" else "classification"
    source = load(
        str(path), client=aside, label=layout.label, task=task, scale="none", **spelled, **grouped
    )
    if aside == layout.client and source.client is not None:
        _one_client(source.client, str(aside), path)
    y = _labels(source.y, source.class_names, like, path)
    division = source.client if aside == SPLIT else None
    x = as_in_the_run(numbers_only(source, path), like, str(path))
    rows = _checked(x, y, like, path, division)
    if name is None or grouped:
        return rows._replace(group=None if name is None else source.truth[name])
    return rows._replace(said=(f"{path} lacks the column {name!r}: {PARTED}",))


def _one_client(client: Array, column: str, path: Path) -> None:
    count = len(np.unique(client))
    if count > 1:
        raise FedkinError(
            f"{path} holds {count} clients in column {column!r}: one newcomer has one file"
        )


def _labels(y: Array, names: tuple[str, ...], like: Population, path: Path) -> Array:
    """Class numbers of the run, by the names of its classes."""
    if like.task == "regression":
        return y
    known = list(like.class_names or map(str, range(like.classes)))
    unexpected = [name for name in names if name not in known]
    if unexpected:
        raise FedkinError(
            f"{path}: label {unexpected[0]!r} is none of the run's classes ({some(known, 9)})"
        )
    return np.array([known.index(name) for name in names])[y]


def _checked(x: Array, y: Array, like: Population, path: Path, division: Array | None) -> Rows:
    if y.ndim != 1 or len(y) != len(x):
        raise FedkinError(
            f"{path}: x has {len(x)} rows but y has shape {y.shape}: give one label a row"
        )
    if like.task == "regression":
        return Rows(x, targets(y, str(path)), division)
    return Rows(x, class_labels(y, like.classes, str(path))[0], division)


def _shaped(x: Array, like: Population, path: Path) -> Array:
    """Samples in the shape of the run's: flat rows of numbers may be images, and an axis of size 1
    may be missing. Other axes would have to be guessed.
    """
    shape, own_shape = tuple(like.x.shape[1:]), x.shape[1:]
    flat = x.ndim == 2 and x.shape[1] == int(np.prod(shape))
    if not flat and _long(own_shape) != _long(shape):
        raise FedkinError(
            f"{path}: samples have shape {list(own_shape)}, those of the run {list(shape)}: give "
            "them in that shape, or as flat rows of it"
        )
    return x.reshape(len(x), *shape)


def _long(shape: tuple[int, ...]) -> list[int]:
    """Axes that an order matters to."""
    return [size for size in shape if size != 1]


READERS: dict[str, Callable[[Path, Population, TableLayout], Rows]] = {
    ".npz": _arrays,
    **dict.fromkeys(SUFFIXES, _table),
}
