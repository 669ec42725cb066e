"""Numbers of a card in words: scores, and what a client sent."""

from collections.abc import Mapping
from typing import Any

MEANINGS = {
    "threshold": "the least probability of the last class from which sensitivity and specificity "
    "take a sample for it, as validation samples chose; accuracy is of the likelier class",
    "ece": "calibration error",
    "brier": "squared error of the probabilities",
    "se": "standard error of the measure that the experiment is judged by",
}
"""Short names among the scores, which do not say themselves what they are."""


def said_scores(values: dict[str, Any]) -> str:
    """A view's scores on a split.

    Args:
        values: Loss, accuracy and measures by name; None for what is not known.

    Returns:
        Text.
    """
    accuracy = "" if values["accuracy"] is None else f"accuracy {values['accuracy']:.4f}, "
    others = [
        f", {name} {value:.4f}"
        for name, value in values.items()
        if name not in ("loss", "accuracy") and value is not None
    ]
    return (
        f"{accuracy}loss {values['loss']:.4f}{''.join(others)}"
        if values["loss"] is not None
        else "not measured"
    )


def said_kinds(sent: dict[str, int]) -> str:
    """What a client sent or received.

    Args:
        sent: Numbers by kind, and "bytes".

    Returns:
        Text.
    """
    kinds = ", ".join(
        f"{count:,} numbers of {kind}" for kind, count in sent.items() if kind != "bytes"
    )
    return f"{kinds}; {sent['bytes']:,} bytes" if kinds else "nothing"


def legend(scores: Mapping[str, Mapping[str, Mapping[str, Any]]]) -> str:
    """What the short names among a card's scores mean.

    Args:
        scores: {view: {split: {name: value}}}, of which those of training samples are not shown.

    Returns:
        Text; "" where every name says it itself.
    """
    shown = {
        name
        for by_split in scores.values()
        for split, values in by_split.items()
        for name, value in values.items()
        if split != "train" and value is not None
    }
    return "; ".join(f"{name}: {means}" for name, means in MEANINGS.items() if name in shown)
