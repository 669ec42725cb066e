"""What every reader returns: one table of samples, checked once, with what is known about its
origin.
"""

from pathlib import Path
from typing import Literal, NamedTuple, TypedDict, Unpack

import numpy as np

from fedkin.core.errors import FedkinError
from fedkin.data.arrays import Array, Mask, Task, class_labels, features, targets
from fedkin.data.tables.recipe import Recipe

__all__ = [
    "Known",
    "Publicity",
    "Source",
    "absent",
    "classified",
    "labelled",
]

# the clients' own, or a public set without or with its labels
Publicity = Literal["private", "unlabeled", "labeled"]


class Source(NamedTuple):
    """One data set, before it is divided over clients.

    x: [n, ...] uint8 pixels in 0..255 (images are [n, channels, height, width]), float32 features,
    or int16 or int32 tokens: 0..classes-1 are the classes themselves, then come the unknown symbol
    and padding. y: [n] int64 labels in 0..classes-1; float32 targets where the task is regression
    (classes = 0). client: [n] natural client labels (str or int), or None. official_test: [n] bool,
    or None. truth: what is known beyond labels: a row a sample ("bout"), or a row a natural client
    where the key is in ``per_client`` ("alpha"; clients in sorted order of their labels), or
    anything else ("theta"). group: the key of ``truth`` whose equal values overlap, so that a
    client must keep them in one split. columns: of a table: x holds its cells (float64, nan is a
    missing one), and this says how they are to be encoded. said: what was left out or looks wrong,
    in sentences.
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
    columns: Recipe | None = None
    said: tuple[str, ...] = ()


class Known(TypedDict, total=False):
    """What a reader may know of its samples besides their labels.

    ``classes`` is the number of classes; without it, it is the number of ``class_names``, or the
    largest label + 1.
    """

    classes: int | None
    class_names: tuple[str, ...]
    client: Array | None
    official_test: Mask | None
    truth: dict[str, Array]


def classified(name: str, x: Array, y: Array, *, where: str, **known: Unpack[Known]) -> Source:
    """A checked Source. Integer (or bool) y is classification, floating y is regression.

    Args:
        name: Of the data set.
        x: [n, …] samples as somebody stored them.
        y: [n] labels.
        where: The file, for messages.
        known: Any of the other fields of a Source, by name.

    Returns:
        Whose x is uint8 or float32.

    Raises:
        FedkinError: A model could not train on the samples or the labels.
    """
    return labelled(name, features(x, where), y, where=where, **known)


def labelled(name: str, x: Array, y: Array, *, where: str, **known: Unpack[Known]) -> Source:
    """``classified`` for an x that is checked already: the labels are checked.

    Args:
        name: Of the data set.
        x: [n, …] samples, as ``features`` left them.
        y: [n] labels.
        where: The file, for messages.
        known: Any of the other fields of a Source, by name.

    Returns:
        A Source of classes, or of a regression where labels are floats.

    Raises:
        FedkinError: Labels do not fit the samples, or a column is of another length.
    """
    y = np.asarray(y)
    if y.ndim != 1 or len(y) != len(x):
        raise FedkinError(
            f"{where}: x has {len(x)} rows but y has shape {y.shape}: give one label a row"
        )
    client, truth = known.get("client"), known.get("truth", {})
    for label, column in (("client", client), *truth.items()):
        if column is not None and len(column) != len(x):
            raise FedkinError(
                f"{where}: {label} has {len(column)} entries for {len(x)} rows: give one a row"
            )
    official_test, names = known.get("official_test"), known.get("class_names", ())
    if y.dtype.kind == "f":
        return Source(
            name, x, targets(y, where), 0, client, official_test, task="regression", truth=truth
        )
    labels, classes = class_labels(y, known.get("classes") or len(names) or None, where)
    return Source(name, x, labels, classes, client, official_test, names, truth=truth)


def absent(name: str, file: str, dir: Path | None, other: str = "") -> FedkinError:
    """The error for a data set whose file is not there; ``other``: what would do instead.

    Args:
        name: Of the data set.
        file: What would hold it.
        dir: The data folder; None where none is named.
        other: Another file that would do.

    Returns:
        The error, to be raised by the caller.
    """
    where = f"in {dir}" if dir is not None else "because no data folder is named"
    either = f", or {other}" if other else ""
    return FedkinError(
        f"data set {name!r} was not found {where}: put {file} into the data folder{either}, "
        "and name that folder with --data-dir or FEDKIN_DATA"
    )
