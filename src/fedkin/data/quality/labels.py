"""What is wrong with labels: one class only, amounts taken for classes, classes too
rare to learn.
"""

import numpy as np

from fedkin.core.errors import many, some
from fedkin.data.holdout import FEWEST
from fedkin.data.quality.problem import Problem
from fedkin.data.source import Source

AMOUNTS = "classes as amounts"
MANY = 20  # classes that are whole numbers, beyond which they are rather amounts


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
    if _amounts(source):
        span = f"{source.class_names[0]} to {source.class_names[-1]}"
        says = f"the labels are {source.classes:,} whole numbers, {span}, each taken for a class"
        fix = {"data.task": "regression"}
        return [
            Problem(
                "amounts",
                says,
                "if they are amounts, predict them as numbers",
                fix,
                1.0,
                sure=False,
            )
        ]
    rare = np.flatnonzero(counts < FEWEST)
    if not len(rare):
        return []
    names = source.class_names or tuple(str(c) for c in range(source.classes))
    says = f"{many(len(rare), 'class has', 'classes have')} fewer than {FEWEST} samples"
    return [
        Problem(
            "rare class",
            says,
            some([names[c] for c in rare]),
            share=float(counts[rare].sum() / counts.sum()),
        )
    ]


def _amounts(source: Source) -> bool:
    """Whether a table's labels look like numbers to predict: more of them than people give names
    to.
    """
    if source.columns is None or source.classes <= MANY:
        return False
    return all(name.lstrip("-").isdecimal() for name in source.class_names)


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
