"""Numbers of a card in words: scores, and what a client sent."""

from typing import Any


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
