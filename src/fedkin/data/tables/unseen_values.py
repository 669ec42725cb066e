"""What a model never saw in training, counted over the rows that it is asked about: one sentence
each.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from fedkin.core.errors import some
from fedkin.data.arrays import Array
from fedkin.data.tables.columns import Place
from fedkin.data.tables.encoding import Category, Feature, Number
from fedkin.data.tables.recipe import Column

FAR = 10.0  # standard deviations from the training mean, beyond which a number is reported


def unseen_remarks(
    features: Sequence[Feature], cells: Array, columns: Sequence[Column], place: Place
) -> Iterator[str]:
    """Sentences about cells [rows, columns] that the encoding cannot tell apart, or that lie far
    outside.

    Args:
        features: Of the run's encoding.
        cells: nan where one is missing.
        columns: What they mean in this table.
        place: Row → where it stands, in words.

    Yields:
        A sentence for the reader.
    """
    empty = np.flatnonzero(np.isnan(cells).all(axis=1))
    if len(empty):
        yield (
            f"{_rows(empty, place)} no value in any column: what is said of such a row is "
            "said of nobody"
        )
    for at, (feature, column) in enumerate(zip(features, columns, strict=True)):
        if isinstance(feature, Number):
            yield from _numbers(feature, cells[:, at], place)
        elif isinstance(feature, Category):
            yield from _values(feature, cells[:, at], column.values, place)


def _numbers(feature: Number, cells: Array, place: Place) -> Iterator[str]:
    known = cells[~np.isnan(cells)].astype(np.float64)
    # else columns enter as they are, and nothing is known of their spread
    scaled = feature.fill == feature.mean
    far = (
        np.abs(np.nan_to_num(cells.astype(np.float64), nan=feature.mean) - feature.mean)
        > FAR * feature.std
    )
    if scaled and far.any():
        rows = np.flatnonzero(far)
        worst = rows[np.abs(cells[rows] - feature.mean).argmax()]
        yield (
            f"column {feature.name!r}: {_rows(rows, place)} a number more than {FAR:g} "
            "standard deviations from the "
            f"training mean of {feature.mean:.4g}, up to {cells[worst]:.6g}"
        )
    if len(known) < len(cells) and not feature.flag:
        rows = np.flatnonzero(np.isnan(cells))
        yield (
            f"column {feature.name!r}: {_rows(rows, place)} no value, as no training row "
            "had: its mean stands for it"
        )


def _values(feature: Category, cells: Array, values: Sequence[str], place: Place) -> Iterator[str]:
    new = np.array([value not in feature.values for value in values] + [False])
    rows = np.flatnonzero(new[np.where(np.isnan(cells), len(values), cells).astype(np.int64)])
    if len(rows):
        names = [repr(value) for value, is_new in zip(values, new) if is_new]
        what = (
            "is none of the values that the model knows by name"
            if feature.rest
            else "was never seen in training"
        )
        yield f"column {feature.name!r}: {_rows(rows, place)} a value that {what}: {some(names)}"
    if np.isnan(cells).any() and not feature.flag:
        rows = np.flatnonzero(np.isnan(cells))
        yield f"column {feature.name!r}: {_rows(rows, place)} no value, as no training row had"


def _rows(rows: Array, place: Place) -> str:
    """Subject and verb: the one row, or how many and the first of them."""
    first = place(int(rows[0]))
    return f"{first} has" if len(rows) == 1 else f"{len(rows):,} rows (the first is {first}) have"
