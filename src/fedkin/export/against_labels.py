"""How predictions compare with the labels that stand in the same file."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from fedkin.core.errors import many, percent, some

SHOWN = 5  # labels in a sentence


def scores_in_words(
    frame: pd.DataFrame, labels: Sequence[str | None] | None, classes: Sequence[str]
) -> tuple[str, ...]:
    """How predictions compare with the labels that a file has.

    Args:
        frame: A row a sample, with "prediction".
        labels: As classes are spelled, None in a row without one; None: the file has no labels.
        classes: The names that predictions have; none: they are numbers.

    Returns:
        Sentences without their full stop.
    """
    if labels is None:
        return ()
    pairs = [
        (prediction, label)
        for prediction, label in zip(frame["prediction"], labels, strict=True)
        if label is not None
    ]
    if not pairs:
        return ("the file's label column is empty: nothing to compare with",)
    none = len(labels) - len(pairs)
    if not classes:
        return (_error_in_words(pairs, none),)
    return (_accuracy_in_words(pairs, none, classes),)


def _accuracy_in_words(pairs: list[tuple[Any, str]], none: int, classes: Sequence[str]) -> str:
    """Of predicted classes, over all labels; ``none``: rows without one. A label that is no class
    of the run may be one in other words.
    """
    known = Counter(label for _, label in pairs if label in classes)
    odd = Counter(label for _, label in pairs if label not in classes)
    shown = some(map(repr, odd), SHOWN)
    if not known:
        return (
            f"no label in the file is a class of the run ({some(classes, SHOWN)}), but {shown}: "
            "nothing to compare with"
        )
    rest = _aside(
        [
            (none, "row has none", "rows have none"),
            (
                odd.total(),
                f"is no class of the run and counts as wrong: {shown}",
                f"are no class of the run and count as wrong: {shown}",
            ),
        ]
    )
    right = sum(prediction == label for prediction, label in pairs)
    (most, often), *_ = known.most_common(1)
    return (
        f"accuracy against the labels in the file: {percent(right / len(pairs), 2)} of "
        f"{len(pairs):,}{rest}; always {most!r}: {percent(often / len(pairs), 2)}"
    )


def _error_in_words(pairs: list[tuple[Any, str]], none: int) -> str:
    """Of predicted numbers, over the labels that are numbers; ``none``: rows without a label."""
    labels = pd.to_numeric(pd.Series([label for _, label in pairs]), errors="coerce").to_numpy()
    known = np.isfinite(labels)
    if not known.any():
        return "no label in the file is a number: nothing to compare with"
    odd = len(labels) - int(known.sum())
    rest = _aside(
        [(none, "row has none", "rows have none"), (odd, "is no number", "are no number")]
    )
    error = np.array([prediction for prediction, _ in pairs], dtype=float)[known] - labels[known]
    return (
        "root mean squared error against the labels in the file: "
        f"{float(np.sqrt(np.mean(error**2))):g}{rest}"
    )


def _aside(counts: list[tuple[int, str, str]]) -> str:
    """How many labels are not compared, in parentheses; "" where all are."""
    parts = [many(count, one, more) for count, one, more in counts if count]
    return f" ({', '.join(parts)})" if parts else ""
