"""Arrays as data sets hold them, and what an array must be before a model may see it."""

from collections.abc import Iterable
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from fedkin.core.errors import FedkinError
from fedkin.data.finite import first_not_finite

__all__ = [
    "Array",
    "Ints",
    "Mask",
    "Task",
    "check_named",
    "class_labels",
    "features",
    "images",
    "targets",
    "text",
]

Array = npt.NDArray[Any]
Ints = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]
Task = Literal["classification", "regression"]
# the kind of an array's type → what a person calls its values
IN_WORDS = {
    "U": "texts",
    "S": "texts",
    "O": "Python objects",
    "M": "dates",
    "m": "spans of time",
    "c": "complex numbers",
    "V": "records of several fields",
    "f": "numbers with a fraction",
}
LEFT = 0.5  # of the different targets: where float32 keeps fewer, a model would learn its rounding


def features(x: Array, where: str) -> Array:
    """uint8 stays (pixels), every other number becomes float32; refuses text, NaN and infinity.

    Args:
        x: [n, …] as somebody stored it.
        where: The file, for messages.

    Returns:
        The same values, contiguous.

    Raises:
        FedkinError: It holds no numbers, no rows, no features, or a number that is not finite.
    """
    x = np.asarray(x)
    if x.dtype.kind not in "buif":
        raise FedkinError(
            f"{where}: x holds {_words(x)}: give numbers, or pixels (uint8); a table (.csv) may "
            "hold texts"
        )
    if x.ndim < 2:
        raise FedkinError(
            f"{where}: x has shape {x.shape}: give one row a sample, [n, features] or an "
            "image shape"
        )
    if x.size == 0:
        raise FedkinError(
            f"{where} has no rows"
            if len(x) == 0
            else f"{where}: x has shape {x.shape}: it holds no features"
        )
    if x.dtype == np.uint8:
        return np.ascontiguousarray(x)
    with np.errstate(over="ignore"):
        x = np.ascontiguousarray(x, dtype=np.float32)
    bad = first_not_finite(x)
    if bad is not None:
        raise FedkinError(
            f"{where}: row {bad} of x holds NaN, infinity or a number too large for float32"
        )
    return x


def targets(y: Array, where: str) -> Array:
    """Regression targets as finite float32.

    Args:
        y: [n] numbers.
        where: The file, for messages.

    Returns:
        float32 [n].

    Raises:
        FedkinError: A number is not finite in float32, of which it names the row; or numbers that
            differ are mostly one in float32, as seconds since 1970 within a minute are.
    """
    with np.errstate(over="ignore"):
        short = y.astype(np.float32)
    bad = first_not_finite(short)
    if bad is not None:
        raise FedkinError(f"{where}: row {bad} of y is NaN, infinite or too large for float32")
    if short.dtype != y.dtype:
        different, left = len(np.unique(y)), len(np.unique(short))
        if left < LEFT * different:
            raise FedkinError(
                f"{where}: y has {different:,} different values, of which float32 keeps {left:,}: "
                f"subtract a number that is near to all of them, such as {float(y.min()):.15g}"
            )
    return short


def class_labels(y: Array, classes: int | None, where: str) -> tuple[Ints, int]:
    """Labels as int64 in 0..classes-1, and the number of classes.

    Args:
        y: [n] whole numbers or booleans.
        classes: How many there are; None: one more than the largest label.
        where: The file, for messages.

    Returns:
        (labels int64 [n], classes).

    Raises:
        FedkinError: Labels are no whole numbers from 0, are beyond ``classes``, or leave large
            gaps.
    """
    if y.dtype.kind not in "bui":
        raise FedkinError(
            f"{where}: y holds {_words(y)}: give whole numbers from 0 for classes, whose names may "
            "stand in an array class_names, or numbers with a fraction for regression"
        )
    low, high = int(y.min()), int(y.max())
    if low < 0:
        raise FedkinError(f"{where}: y holds the label {low}: number the classes from 0")
    if classes is not None and high >= classes:
        raise FedkinError(
            f"{where}: y holds the label {high}, but there are {classes} classes: use 0 to "
            f"{classes - 1}"
        )
    if classes is None and high >= max(1000, len(y)):
        raise FedkinError(
            f"{where}: y reaches {high} with only {len(y)} rows: number the classes from 0, "
            "without gaps"
        )
    return y.astype(np.int64), classes or high + 1


def _words(values: Array) -> str:
    """What an array of another kind than it should be holds."""
    return IN_WORDS.get(values.dtype.kind, "no numbers")


def images(x: Array) -> Array:
    """uint8 images with the channel axis first: [n,h,w] gets one, [n,h,w,1 or 3] is turned; the
    rest stays.

    Args:
        x: Samples of any type and shape.

    Returns:
        [n, channels, height, width] where they are pictures.
    """
    if x.dtype != np.uint8:
        return x
    if x.ndim == 3:
        return x[:, None]
    if x.ndim == 4 and x.shape[-1] in (1, 3) and x.shape[1] not in (1, 3):
        return np.ascontiguousarray(x.transpose(0, 3, 1, 2))
    return x


def text(values: Array, where: str) -> Array:
    """Client labels as str or int64: bytes are decoded, every integer type becomes one.

    Args:
        values: [n] of any type.
        where: What they are and in which file, for messages.

    Returns:
        [n], in types that are stored without pickle.

    Raises:
        FedkinError: They are no list, one is no name (NaN, bytes that are not UTF-8), or a number
            is beyond int64.
    """
    values = np.asarray(values)
    if values.ndim != 1:
        raise FedkinError(f"{where} has shape {values.shape}: give a list of names")
    if values.dtype.kind == "S":
        try:
            return np.char.decode(values, "utf-8")
        except UnicodeDecodeError:
            raise FedkinError(f"{where} holds bytes that are not UTF-8: save it as str") from None
    nothing = values != values if values.dtype.kind in "fcmM" else np.zeros(0, dtype=bool)
    if nothing.any():
        raise FedkinError(f"{where} holds {values[nothing][0]} at {nothing.argmax()}: give a name")
    if values.dtype.kind not in "bui":
        return values.astype(str)
    if len(values) and int(values.max()) > np.iinfo(np.int64).max:
        raise FedkinError(
            f"{where} holds {values.max()}, which is beyond int64: save it as str, or number from 0"
        )
    return values.astype(np.int64)


def check_named(names: Iterable[str], what: str) -> None:
    """Refuses a name that neither run.db nor a table can hold: what a folder of another encoding,
    or half a letter of JSON, becomes.

    Args:
        names: Of clients, classes, or a data set.
        what: What they name, for messages.

    Raises:
        FedkinError: One is no UTF-8 text.
    """
    for name in names:
        try:
            name.encode("utf-8")
        except UnicodeEncodeError:
            raise FedkinError(
                f"{what} {name!r} is no UTF-8 text: rename the file, folder or entry"
            ) from None
