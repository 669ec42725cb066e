"""What is wrong with labels: one class only, amounts taken for classes, classes too
rare to learn.
"""

import re

import numpy as np

from fedkin.core.errors import many, some
from fedkin.data.holdout import FEWEST
from fedkin.data.quality.problem import Problem
from fedkin.data.source import Source

AMOUNTS = "classes as amounts"
WHOLE = "amounts"  # whole numbers of a table: taken for classes, unless data.task is said
WHOLE_NUMBER = re.compile(r"-?\d{1,18}")
FEW = 4  # classes that are whole numbers, from which on they may count or rank
MANY = 20  # beyond which they are rather amounts


def label_problems(source: Source) -> list[Problem]:
    """The faults of labels.

    Args:
        source: The data as they were read.

    Returns:
        Of a regression at most that its labels look like classes.
    """
    if not source.classes:
        return _classes_as_amounts(source)
    counts = np.bincount(source.y, minlength=source.classes)
    if source.classes == 1:
        return [
            Problem(
                "one class", "all samples are of one class", "there is nothing to learn", share=1.0
            )
        ]
    numbers = _whole_numbers(source)
    if source.classes > MANY and numbers:
        return numbers
    rare = np.flatnonzero(counts < FEWEST)
    if not len(rare):
        return numbers
    names = source.class_names or tuple(str(c) for c in range(source.classes))
    says = f"{many(len(rare), 'class has', 'classes have')} fewer than {FEWEST} samples"
    return [
        *numbers,
        Problem(
            "rare class",
            says,
            some([names[c] for c in rare]),
            share=float(counts[rare].sum() / counts.sum()),
        ),
    ]


def _whole_numbers(source: Source) -> list[Problem]:
    """Of a table whose classes look like numbers to predict: whole numbers one after the other, as
    counts and grades are, or more of them than people give names to.
    """
    names = source.class_names
    if source.columns is None or source.classes < FEW:
        return []
    if not all(WHOLE_NUMBER.fullmatch(name) for name in names):
        return []
    numbers = sorted(map(int, names))
    between = numbers[-1] - numbers[0] + 1
    if source.classes <= MANY and between != source.classes:
        return []
    span = f"{numbers[0]} to {numbers[-1]}"
    says = f"the labels are {source.classes:,} whole numbers, {span}, each taken for a class"
    why = "if they count or rank, predict them as numbers; if not, say data.task=classification"
    return [Problem(WHOLE, says, why, {"data.task": "regression"}, 1.0, sure=False)]


def _classes_as_amounts(source: Source) -> list[Problem]:
    """Of arrays whose labels are floats and yet few whole numbers, as a gap or a mean makes them.
    A table takes such labels for classes.
    """
    y = np.asarray(source.y)
    if source.columns is not None or len(y) < 2 * MANY or (y != np.rint(y)).any():
        return []
    values = np.unique(y)
    if len(values) > MANY:
        return []
    says = f"y holds floats and {len(values)} different whole numbers, each taken for an amount"
    why = "if they are classes, save y as integers from 0 on"
    return [Problem(AMOUNTS, says, why, {}, 1.0, sure=False)]
