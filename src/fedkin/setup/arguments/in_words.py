"""What a caller gave, as it is shown again: data and models, no plain values, are put in words."""

from typing import Any


class InWords:
    """Words that ``repr`` shows as they are.

    Args:
        says: The words.
    """

    def __init__(self, says: str) -> None:
        self.says = says

    def __repr__(self) -> str:
        return self.says


def in_words(value: Any, data: str | None = None) -> Any:
    """A keyword's value, for ``repr``.

    >>> in_words(3), in_words([0.1, 0.2]), in_words(object(), data="30 rows of 2 columns")
    (3, [0.1, 0.2], 30 rows of 2 columns)

    Args:
        value: A number, a text or a list of them stays as it is; of a model its name is shown.
        data: What is to be said where the value is data of the caller's; None: it is not.

    Returns:
        The value, or words in its place.
    """
    if isinstance(value, str | int | float | list | tuple):
        return value
    if data is not None:
        return InWords(data)
    if isinstance(value, type) or callable(getattr(value, "forward", value)):
        return InWords(getattr(value, "__name__", type(value).__name__))
    return value
