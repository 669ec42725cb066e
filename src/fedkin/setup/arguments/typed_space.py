"""What a Python caller gives a search, as it is typed after ``--space``."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any


def typed_space(space: Mapping[str, Any] | Sequence[str]) -> list[str]:
    """The texts of a space.

    >>> typed_space({"train.lr": [0.01, 0.1], "train.steps": 5}), typed_space("train.lr=0.1")
    (['train.lr=0.01, 0.1', 'train.steps=5'], ['train.lr=0.1'])

    Args:
        space: Key → values, or one value; or texts, or one text.

    Returns:
        "key=value, value", one a key.
    """
    if not isinstance(space, Mapping):
        return [space] if isinstance(space, str) else list(space)
    return [f"{key}={_typed(values)}" for key, values in space.items()]


def _typed(values: Any) -> str:
    several = isinstance(values, Iterable) and not isinstance(values, str)
    return ", ".join(map(str, values)) if several else str(values)
