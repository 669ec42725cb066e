"""What every reader returns: one table of samples, checked once, with what is known about its origin."""

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypedDict, Unpack

import numpy as np
import numpy.typing as npt

from fedkin.core.errors import FedkinError
from fedkin.data.finite import first_not_finite

if TYPE_CHECKING:
    from fedkin.data.encode import Recipe

Array = npt.NDArray[Any]
Ints = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]
Task = Literal["classification", "regression"]


class Source(NamedTuple):
    """One data set, before it is divided over clients.

    x: [n, ...] uint8 pixels in 0..255 (images are [n, channels, height, width]), float32 features, or int16 or int32
    tokens: 0..classes-1 are the classes themselves, then come the unknown symbol and padding.
    y: [n] int64 labels in 0..classes-1; float32 targets where the task is regression (classes = 0).
    client: [n] natural client labels (str or int), or None. official_test: [n] bool, or None.
    truth: what is known beyond labels: a row a sample ("bout"), or a row a natural client where the key is in
    ``per_client`` ("alpha"; clients in sorted order of their labels), or anything else ("theta").
    group: the key of ``truth`` whose equal values overlap, so that a client must keep them in one split.
    columns: of a table: x holds its cells (nan is a missing one), and this says how they are to be encoded.
    said: what was left out or looks wrong, in sentences.
    """

    name: str
    x: Array
    y: Array
    classes: int
    client: Array | None = None
    official_test: Mask | None = None
    class_names: tuple[str, ...] = ()
    task: Task = "classification"
    truth: dict[str, Array] = {}  # noqa: RUF012 (read only)
    per_client: tuple[str, ...] = ()
    group: str | None = None
    columns: "Recipe | None" = None
    said: tuple[str, ...] = ()


class Known(TypedDict, total=False):
    """What a reader may know of its samples besides their labels.

    ``classes`` is the number of classes; without it, it is the number of ``class_names``, or the largest label + 1.
    """

    classes: int | None
    class_names: tuple[str, ...]
    client: Array | None
    official_test: Mask | None
    truth: dict[str, Array]


def classified(name: str, x: Array, y: Array, *, where: str, **known: Unpack[Known]) -> Source:
    """A checked Source. Integer (or bool) y is classification, floating y is regression.

    ``where`` names the file in errors. Raises FedkinError for anything a model could not train on.
    """
    return labelled(name, features(x, where), y, where=where, **known)


def labelled(name: str, x: Array, y: Array, *, where: str, **known: Unpack[Known]) -> Source:
    """``classified`` for an x that is checked already: the labels are checked."""
    y = np.asarray(y)
    if y.ndim != 1 or len(y) != len(x):
        raise FedkinError(f"{where}: x has {len(x)} rows but y has shape {y.shape}: give one label a row")
    client, truth = known.get("client"), known.get("truth", {})
    for label, column in (("client", client), *truth.items()):
        if column is not None and len(column) != len(x):
            raise FedkinError(f"{where}: {label} has {len(column)} entries for {len(x)} rows: give one a row")
    official_test, names = known.get("official_test"), known.get("class_names", ())
    if y.dtype.kind == "f":
        return Source(name, x, targets(y, where), 0, client, official_test, task="regression", truth=truth)
    labels, classes = class_labels(y, known.get("classes") or len(names) or None, where)
    return Source(name, x, labels, classes, client, official_test, names, truth=truth)


def features(x: Array, where: str) -> Array:
    """uint8 stays (pixels), every other number becomes float32; refuses text, NaN and infinity."""
    x = np.asarray(x)
    if x.dtype.kind not in "buif":
        raise FedkinError(f"{where}: x holds {x.dtype} values: give uint8 pixels or numbers")
    if x.ndim < 2:
        raise FedkinError(f"{where}: x has shape {x.shape}: give one row a sample, [n, features] or an image shape")
    if x.size == 0:
        raise FedkinError(
            f"{where} has no rows" if len(x) == 0 else f"{where}: x has shape {x.shape}: it holds no features"
        )
    if x.dtype == np.uint8:
        return np.ascontiguousarray(x)
    with np.errstate(over="ignore"):
        x = np.ascontiguousarray(x, dtype=np.float32)
    bad = first_not_finite(x)
    if bad is not None:
        raise FedkinError(f"{where}: row {bad} of x holds NaN, infinity or a number too large for float32")
    return x


def targets(y: Array, where: str) -> Array:
    """Regression targets as finite float32."""
    with np.errstate(over="ignore"):
        y = y.astype(np.float32)
    bad = first_not_finite(y)
    if bad is not None:
        raise FedkinError(f"{where}: row {bad} of y is NaN, infinite or too large for float32")
    return y


def class_labels(y: Array, classes: int | None, where: str) -> tuple[Ints, int]:
    """Labels as int64 in 0..classes-1, and the number of classes."""
    if y.dtype.kind not in "bui":
        raise FedkinError(f"{where}: y holds {y.dtype} values: give integers (classes) or floats (regression)")
    low, high = int(y.min()), int(y.max())
    if low < 0:
        raise FedkinError(f"{where}: y holds the label {low}: number the classes from 0")
    if classes is not None and high >= classes:
        raise FedkinError(f"{where}: y holds the label {high}, but there are {classes} classes: use 0 to {classes - 1}")
    if classes is None and high >= max(1000, len(y)):
        raise FedkinError(f"{where}: y reaches {high} with only {len(y)} rows: number the classes from 0, without gaps")
    return y.astype(np.int64), classes or high + 1


def images(x: Array) -> Array:
    """uint8 images with the channel axis first: [n,h,w] gets one, [n,h,w,1 or 3] is turned; the rest stays."""
    if x.dtype != np.uint8:
        return x
    if x.ndim == 3:
        return x[:, None]
    if x.ndim == 4 and x.shape[-1] in (1, 3) and x.shape[1] not in (1, 3):
        return np.ascontiguousarray(x.transpose(0, 3, 1, 2))
    return x


def text(values: Array) -> Array:
    """Client labels as str or int64: bytes are decoded, every integer type becomes one."""
    values = np.asarray(values)
    if values.dtype.kind == "S":
        return np.char.decode(values, "utf-8")
    return values.astype(np.int64) if values.dtype.kind in "bui" else values.astype(str)


def absent(name: str, file: str, dir: Path | None, other: str = "") -> FedkinError:
    """The error for a data set whose file is not there; ``other``: what would do instead."""
    where = f"in {dir}" if dir is not None else "because no data folder is named"
    either = f", or {other}" if other else ""
    return FedkinError(
        f"data set {name!r} was not found {where}: put {file} into the data folder{either}, "
        "and name that folder with --data-dir or FEDKIN_DATA"
    )
