"""The measures of a model's predictions: what each is called, for which labels it is, which way is
better.

A catalogue and the rule that chooses one from the data; they are computed in
``fedkin.engine.measures``.
"""

from collections.abc import Sequence
from typing import Literal, NamedTuple

from fedkin.core.errors import FedkinError
from fedkin.core.system.user_code import is_user_code

Name = Literal[
    "accuracy",
    "balanced_accuracy",
    "macro_f1",
    "auc",
    "average_precision",
    "log_loss",
    "brier",
    "ece",
    "sensitivity",
    "specificity",
    "rmse",
    "mae",
    "r2",
    "deviance",
    "perplexity",
]
Kind = Literal["two classes", "classes", "text", "numbers"]
TWO = 2  # classes
RARE, VERY_RARE = 0.2, 0.02  # samples of the rare class for one of the frequent one
DIGITS = 12  # of a mean or a difference that say something: the rest is by the order of sums
MISLEADS = 0.8  # share of the most frequent class from which accuracy says little


class Measure(NamedTuple):
    """``label``: as people write it. ``kinds``: the labels that it is for. ``least``, ``most``:
    what it can be. ``column``: whether the comparison of runs, and the last lines of a run, have
    it beside the experiment's measure; the report has all of them.
    """

    label: str
    kinds: tuple[Kind, ...]
    higher: bool  # is better
    percent: bool = False  # is shown as a share of 100
    least: float = 0.0
    most: float = float("inf")
    column: bool = True

    @property
    def sign(self) -> int:
        """What a value is multiplied by so that more of it is better: 1 or -1."""
        return 1 if self.higher else -1


_ANY: tuple[Kind, ...] = ("two classes", "classes", "text")
MEASURES: dict[str, Measure] = {
    "accuracy": Measure("accuracy", _ANY, True, True, most=1.0),
    "balanced_accuracy": Measure("balanced accuracy", _ANY, True, True, most=1.0),
    "macro_f1": Measure("macro F1", _ANY, True, most=1.0, column=False),
    "auc": Measure("AUC", ("two classes", "classes"), True, most=1.0),
    "average_precision": Measure("average precision", ("two classes", "classes"), True, most=1.0),
    "log_loss": Measure("log-loss", _ANY, False, column=False),
    "brier": Measure("Brier score", _ANY, False, most=2.0, column=False),
    "ece": Measure("calibration error", _ANY, False, most=1.0, column=False),
    "sensitivity": Measure("sensitivity", ("two classes",), True, True, most=1.0, column=False),
    "specificity": Measure("specificity", ("two classes",), True, True, most=1.0, column=False),
    "rmse": Measure("RMSE", ("numbers",), False),
    "mae": Measure("MAE", ("numbers",), False),
    "r2": Measure("R²", ("numbers",), True, least=-float("inf"), most=1.0),
    "deviance": Measure("deviance", ("numbers",), False, column=False),
    "perplexity": Measure("perplexity", ("text",), False, least=1.0, column=False),
}
LOSS = Measure("loss", (), False, least=-float("inf"))  # of runs from before measures had a choice
IN_SCORES = ("accuracy", "log_loss")  # what is recorded as accuracy and loss in every round
ASIDE = {
    "threshold": Measure("threshold", (), True, most=1.0),
    "se": Measure("standard error", (), False),
}
"""What is recorded beside measures: the threshold of sensitivity, and the standard error of the
chosen measure.
"""


HIGHER, LOWER = ("_score",), ("_error", "_loss", "_deviance")
"""How the name of a function of one's own ends whose larger, or smaller, values are better. This is
scikit-learn's convention; a report, which imports no code of others, reads it too.
"""


class Choice(NamedTuple):
    """The measure of an experiment, and why it is that one."""

    name: str
    why: str


def measure_named(name: str) -> Measure:
    """The measure of that name; "loss" too, which older runs have, and what stands in ASIDE.

    Args:
        name: One of MEASURES or ASIDE, "loss", or ``package.module:function`` of a measure of one's
            own, of which nothing is imported.

    Returns:
        Its facts: words, direction, the labels it is for.
    """
    if is_user_code(name):
        words = name.partition(":")[2].strip("_").replace("_", " ")
        return Measure(words, (), not name.endswith(LOWER), least=-float("inf"))
    if name == "loss":
        return LOSS
    return ASIDE[name] if name in ASIDE else MEASURES[name]


def comparable(mean: float) -> float:
    """A mean as it is compared: equal ones are equal whatever the order of their sums, so that the
    first of them is kept.

    >>> 0.1 + 0.2 > 0.3, comparable(0.1 + 0.2) > comparable(0.3)
    (True, False)

    Args:
        mean: Of a measure; it may be infinite.

    Returns:
        The mean, rounded; what is stored stays as it is.
    """
    return round(mean, DIGITS)


def difference(value: float, other: float) -> float:
    """value − other, and exactly 0 where they differ by rounding alone, as sums in another order
    do.

    Args:
        value: Of a measure.
        other: Of the same measure.

    Returns:
        In the measure's own unit.
    """
    return comparable(value - other)


def gain_on(measure: str, value: float, other: float) -> float:
    """By how much a value is better than another: who has it is helped where that is above 0, and
    hurt where it is below.

    Args:
        measure: The name of the measure.
        value: Of a client, say.
        other: The same client's without federation, say.

    Returns:
        In the measure's own unit; more is better, whatever the measure.
    """
    return measure_named(measure).sign * difference(value, other)


def is_measure(name: str) -> bool:
    """Whether an experiment can go by it.

    Args:
        name: As a person or a file has it.

    Returns:
        Whether it is one of MEASURES, or the path of a function of one's own.
    """
    return name in MEASURES or is_user_code(name)


def kind_of(classes: int, tokens: bool) -> Kind:
    """What the labels are.

    ``classes``: 0 for numbers; ``tokens``: samples are symbols of a text.

    Args:
        classes: How many; 0 where labels are numbers.
        tokens: Whether samples are symbols of a text.

    Returns:
        One of the four kinds of labels.
    """
    if not classes:
        return "numbers"
    if tokens:
        return "text"
    return "two classes" if classes == TWO else "classes"


def suited(kind: Kind) -> list[str]:
    """Names of the measures for such labels.

    Args:
        kind: What the labels are.

    Returns:
        In the order in which tables show them.
    """
    return [name for name, measure in MEASURES.items() if kind in measure.kinds]


def in_columns() -> list[str]:
    """Names of the measures that tables of several runs have columns for.

    Returns:
        In the order in which tables show them.
    """
    return [name for name, measure in MEASURES.items() if measure.column]


def chosen_for(kind: Kind, counts: Sequence[int] = ()) -> Choice:
    """The measure that the data suggest.

    Args:
        kind: What the labels are.
        counts: Training samples of each class over all clients; () where nobody knows them.

    Returns:
        Its name, and why, in words.
    """
    if kind == "numbers":
        return Choice("rmse", "labels are numbers")
    if kind == "text":
        return Choice("perplexity", "labels are the next symbols of a text")
    frequent, rare = max(counts, default=0), min(counts, default=0)
    if kind != "two classes" or not rare or rare >= RARE * frequent:
        return Choice("accuracy", "labels are classes")
    share = f"{100 * rare / (rare + frequent):.2g} % of the training labels are of the rare class"
    return Choice(
        "average_precision" if rare < VERY_RARE * frequent else "auc",
        f"{share}: accuracy would mislead",
    )


def check_measure(name: str, kind: Kind) -> None:
    """Refuses a measure that is not for such labels, or does not say which way is better.

    Args:
        name: A measure.
        kind: What the labels are.

    Raises:
        FedkinError: The measure is not for such labels; names those that are. One's own, which is
            for any, has a name that says nothing of its direction.
    """
    if is_user_code(name):
        if not name.endswith((*HIGHER, *LOWER)):
            raise FedkinError(
                f"run.measure = {name!r} does not say which way is better: end the function's "
                f"name in {HIGHER[0]} (higher is), or in {', '.join(LOWER[:-1])} or {LOWER[-1]} "
                "(lower is)"
            )
        return
    if name not in suited(kind):
        raise FedkinError(
            f"run.measure = {name!r} is not for {kind}: choose {', '.join(suited(kind))}"
        )


def misleads(counts: Sequence[int]) -> str:
    """A sentence where one class is so frequent that accuracy says little; "" elsewhere.

    Args:
        counts: Training samples of each class over all clients.

    Returns:
        The sentence for a person.
    """
    total = sum(counts)
    if len(counts) < TWO or not total or max(counts) < MISLEADS * total:
        return ""
    share = 100 * max(counts) / total
    return (
        f"accuracy misleads: {share:.1f} % of the training labels are of one class, "
        f"so that always predicting it is right in about {share:.0f} % of the cases"
    )
