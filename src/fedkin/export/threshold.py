"""From which probability on a model of two classes says the second one."""

import math
from typing import NamedTuple

import pandas as pd

from fedkin.core.errors import FedkinError, many
from fedkin.core.measures import TWO
from fedkin.export.exportable import Exportable
from fedkin.export.opened_run import PERSONAL

OWN = "own"  # the client's own, which its validation samples chose
LIKELIER = 0.5


class Threshold(NamedTuple):
    """``used``: the least probability of the second class with which it is predicted; None where
    there are not two classes. ``own``: the client's own, which sensitivity and specificity are at;
    None where it has none. ``asked``: whether somebody chose it.
    """

    used: float | None
    own: float | None
    asked: bool = False


def threshold_of(exportable: Exportable, asked: float | str | None = None) -> Threshold:
    """What a model's predictions are made with.

    Args:
        exportable: The model.
        asked: A number in 0..1, also as text, or "own"; None: the likelier class is predicted.

    Returns:
        The threshold.

    Raises:
        FedkinError: There are not two classes, it is no such number, or the client has none.
    """
    classes = exportable.population.classes
    own = own_threshold(exportable)
    if asked is None:
        return Threshold(LIKELIER if classes == TWO else None, own)
    if classes != TWO:
        has = f"{classes} classes" if classes else "no classes"
        raise FedkinError(f"a threshold is for two classes, and this model has {has}: leave it out")
    if asked != OWN:
        return Threshold(_number(asked), own, True)
    if own is None:
        raise FedkinError(
            f"{exportable.client or 'the shared model'} has no threshold of its own, as where "
            "validation samples lack a class: give a number from 0 to 1"
        )
    return Threshold(own, own, True)


def _number(asked: float | str) -> float:
    try:
        number = float(asked)
    except (TypeError, ValueError):
        number = math.nan
    if not 0 <= number <= 1:
        raise FedkinError(f"threshold {asked} is no number from 0 to 1, and not the word {OWN}")
    return number


def own_threshold(exportable: Exportable) -> float | None:
    """That of a client's sensitivity and specificity; None of more classes than two, of a client
    whose validation samples do not have both, and of a model that is nobody's, where a card has the
    mean over clients.

    Args:
        exportable: The model.

    Returns:
        In 0..1, or None.
    """
    if exportable.population.classes != TWO or exportable.client is None:
        return None
    card = exportable.card()
    chosen_on = card.get("scores", {}).get(card.get("view", PERSONAL), {}).get("val", {})
    needed = [chosen_on.get(name) for name in ("threshold", "sensitivity", "specificity")]
    return None if None in needed else float(chosen_on["threshold"])


def answered(frame: pd.DataFrame, threshold: Threshold) -> pd.DataFrame:
    """The table of predictions, as the threshold says where somebody chose it.

    Args:
        frame: A row a sample: "prediction", then "p(LABEL)" of each class, which are its last
            columns.
        threshold: Of its model.

    Returns:
        The table; ``attrs["threshold"]`` and ``attrs["own_threshold"]`` tell both.
    """
    if threshold.asked:
        predictions = pd.Series(_by(frame, threshold.used or 0.0), frame.index, dtype=object)
        frame = frame.assign(prediction=predictions)
    frame.attrs |= {"threshold": threshold.used, "own_threshold": threshold.own}
    return frame


def in_words(frame: pd.DataFrame, threshold: Threshold) -> tuple[str, ...]:
    """How many rows the other threshold would answer otherwise.

    Args:
        frame: The table of predictions.
        threshold: What they were made with.

    Returns:
        A sentence where there are such rows, or where somebody chose the threshold.
    """
    if threshold.asked:
        return (_chosen_in_words(frame, threshold),)
    if threshold.own is None:
        return ()
    other = _otherwise(frame, threshold.own, LIKELIER)
    if not other:
        return ()
    return (
        "a prediction is the likelier class; the run's sensitivity and specificity are at "
        f"{frame.columns[-1]} >= {threshold.own:.4g}, which validation samples chose: "
        f"{many(other, 'row')} of {len(frame):,} would be answered otherwise (threshold own)",
    )


def _chosen_in_words(frame: pd.DataFrame, threshold: Threshold) -> str:
    used = threshold.used or 0.0
    whose = ", which validation samples chose" if used == threshold.own else ""
    other = _otherwise(frame, used, LIKELIER)
    return (
        f"a prediction is {_second(frame)} from {frame.columns[-1]} >= {used:.4g} on{whose}: "
        f"{many(other, 'row')} of {len(frame):,} answered otherwise than by the likelier class"
    )


def _second(frame: pd.DataFrame) -> str:
    """The name of the second class."""
    return str(frame.columns[-1])[2:-1]


def _by(frame: pd.DataFrame, least: float) -> list[str | None]:
    """Predictions from a least probability of the second class; None where a model says nothing."""
    first, second = (str(name)[2:-1] for name in frame.columns[-2:])
    chances = frame[frame.columns[-1]]
    return [None if math.isnan(p) else second if p >= least else first for p in chances]


def _otherwise(frame: pd.DataFrame, one: float, other: float) -> int:
    return sum(a != b for a, b in zip(_by(frame, one), _by(frame, other), strict=True))
