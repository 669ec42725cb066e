"""The file of one client that was not in a run, as the run's own data are."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch

from fedkin.core.errors import FedkinError, some
from fedkin.core.rng import Key
from fedkin.data.clients import SPLITS, Population
from fedkin.data.encode import Encoding
from fedkin.data.frames import SUFFIXES, Style, read_file
from fedkin.data.holdout import Fractions, holdout
from fedkin.data.npz import load_arrays
from fedkin.data.source import Array, Ints, Source, class_labels, features, images, targets
from fedkin.data.sources import load
from fedkin.data.table import numbers_only

SPLIT = "split"  # a column that says train, val or test


class Told(NamedTuple):
    """What the run says of its data: columns, options of its source, and how clients' samples are divided."""

    label: str
    client: str | None
    options: Mapping[str, Any]
    fractions: Fractions


def read_newcomer(path: Path, like: Population, told: Told, key: Key) -> Population:
    """One client's samples. Columns and classes are those of ``like``; what a file does not divide, ``told`` does.

    .npz: x, y, or x_train, y_train and, where there are any, x_val, … x_test. Tables: the run's columns and label, and
    perhaps a column "split" with train, val or test. Raises FedkinError, in one sentence, for what does not fit.
    """
    if not path.is_file():
        raise FedkinError(f"{path} does not exist")
    read = _table if path.suffix.lower() in SUFFIXES else _arrays
    x, y, division = read(path, like, told)
    rows = _divided(len(y), division, told.fractions, key, path)
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
    )


def _arrays(path: Path, like: Population, told: Told) -> tuple[Array, Array, Array | None]:
    arrays = load_arrays(path)
    if {"x", "y"} <= set(arrays):
        return _checked(images(features(arrays["x"], str(path))), arrays["y"], like, path, None)
    parts = [part for part in SPLITS if f"x_{part}" in arrays]
    missing = [key for part in ["train", *parts] for key in (f"x_{part}", f"y_{part}") if key not in arrays]
    if missing:
        raise FedkinError(f"{path} lacks {missing[0]}: it holds x and y, or x_train, y_train and perhaps val and test")
    x = np.concatenate([arrays[f"x_{part}"] for part in parts])
    y = np.concatenate([arrays[f"y_{part}"] for part in parts])
    division = np.repeat(parts, [len(arrays[f"x_{part}"]) for part in parts])
    return _checked(images(features(x, str(path))), y, like, path, division)


def _table(path: Path, like: Population, told: Told) -> tuple[Array, Array, Array | None]:
    spelled = {key: str(told.options[key]) for key in ("separator", "decimal", "encoding") if key in told.options}
    columns = [str(name) for name in read_file(path, Style((), **spelled)).frame.columns]
    aside = next((name for name in (SPLIT, told.client) if name in columns), None)
    used = like.encoding.features if like.encoding is not None else ()
    lacking = [feature.name for feature in used if feature.name not in columns]
    if lacking:
        raise FedkinError(f"{path} lacks the column {lacking[0]!r}, which the run was trained with")
    known = {aside, told.label, *(feature.name for feature in used)}
    options: dict[str, Any] = {**spelled, "scale": "none"}
    if like.encoding is not None:
        options["drop"] = [name for name in columns if name not in known]
        for key, kind in (("categorical", "category"), ("text", "words")):
            options[key] = [feature.name for feature in used if feature.kind == kind]
    task = "regression" if like.task == "regression" else "classification"
    source = load(str(path), client=aside, label=told.label, task=task, **options)
    if aside == told.client and source.client is not None and len(np.unique(source.client)) > 1:
        count = len(np.unique(source.client))
        raise FedkinError(f"{path} holds {count} clients in column {aside!r}: one newcomer has one file")
    x = numbers_only(source, str(path)) if like.encoding is None else _encoded(source, like.encoding, path)
    return _checked(x, _labels(source, like, path), like, path, source.client if aside == SPLIT else None)


def _encoded(source: Source, encoding: Encoding, path: Path) -> Array:
    """Cells as the run encodes them, whatever the order of the columns."""
    assert source.columns is not None
    at = {column.name: k for k, column in enumerate(source.columns.columns)}
    order = [at[feature.name] for feature in encoding.features]
    columns = [source.columns.columns[k] for k in order]
    for feature, column in zip(encoding.features, columns, strict=True):
        if feature.kind == "number" and column.values:
            found = f"column {feature.name!r} holds {column.values[0][:40]!r}"
            raise FedkinError(f"{path}: {found}, but the run was trained with numbers there")
    return encoding.encode(source.x[:, order], columns)


def _labels(source: Source, like: Population, path: Path) -> Array:
    """Class numbers of the run, by the names of its classes."""
    if like.task == "regression":
        return source.y
    names = list(like.class_names or map(str, range(like.classes)))
    strange = [name for name in source.class_names if name not in names]
    if strange:
        raise FedkinError(f"{path}: label {strange[0]!r} is none of the run's classes ({some(names, 9)})")
    return np.array([names.index(name) for name in source.class_names])[source.y]


def _checked(
    x: Array, y: Array, like: Population, path: Path, division: Array | None
) -> tuple[Array, Array, Array | None]:
    if y.ndim != 1 or len(y) != len(x):
        raise FedkinError(f"{path}: x has {len(x)} rows but y has shape {y.shape}: give one label a row")
    if like.task == "regression":
        return x, targets(y, str(path)), division
    return x, class_labels(y, like.classes, str(path))[0], division


def _shaped(x: Array, like: Population, path: Path) -> Array:
    """Samples in the shape and the kind of the run's: rows of numbers may be images."""
    shape = tuple(like.x.shape[1:])
    if x[:1].size != int(np.prod(shape)):
        raise FedkinError(f"{path}: samples have shape {list(x.shape[1:])}, those of the run {list(shape)}")
    x = x.reshape(len(x), *shape)
    wanted = like.x.numpy().dtype
    if wanted == x.dtype:
        return x
    if wanted.kind not in "ui" or not (np.equal(x, np.rint(x)).all() and x.min() >= 0 and x.max() < 256):
        raise FedkinError(f"{path}: samples are {x.dtype}, those of the run {wanted}")
    return x.astype(wanted)


def _divided(n: int, division: Array | None, fractions: Fractions, key: Key, path: Path) -> list[Ints]:
    if division is None:
        held = holdout([np.arange(n, dtype=np.int64)], key, fractions, names=[path.stem])
        return [held.train[0], held.val[0], held.test[0]]
    strange = sorted({str(part) for part in division} - set(SPLITS))
    if strange:
        raise FedkinError(f"{path}: column {SPLIT!r} holds {strange[0]!r}: it says train, val or test")
    rows = [np.flatnonzero(division == part).astype(np.int64) for part in SPLITS]
    if not len(rows[0]):
        raise FedkinError(f"{path}: column {SPLIT!r} names no row train")
    return rows
