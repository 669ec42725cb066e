"""What a Python caller gives a search: values as they are, or texts as after ``--space``."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from fedkin.core.errors import FedkinError
from fedkin.sweep.ranges import range_of
from fedkin.sweep.space import Space, space_of


def given_space(space: Mapping[str, Any] | Sequence[str]) -> Space:
    """A space from values, which no text stands between: True stays True, and a text with commas
    is one value.

    Args:
        space: Key → values, or one value, or a range as a text (``"log 0.001 .. 0.3"``); or texts,
            or one text, as ``space_of`` takes them.

    Returns:
        {key: a list of values, or (low, high, whether on a logarithmic scale)}.

    Raises:
        FedkinError: There is nothing to search, a value that no specification holds, or texts that
            are not understood.
    """
    if not isinstance(space, Mapping):
        return space_of([space] if isinstance(space, str) else space)
    if not space:
        return space_of([])  # which says that there is nothing to search
    return {key: _searched(key, values) for key, values in space.items()}


def _searched(key: str, values: Any) -> list[Any] | tuple[float, float, bool]:
    if isinstance(values, str) and (found := range_of(f"{key}={values}", values)) is not None:
        return found
    several = isinstance(values, Iterable) and not isinstance(values, str | Mapping)
    plain = [_plain(key, value) for value in (values if several else [values])]
    if not plain:
        raise FedkinError(f"{key} has no values to search: give a list of them")
    return [value for at, value in enumerate(plain) if value not in plain[:at]]


def _plain(key: str, value: Any) -> Any:
    """As a study keeps it, in JSON: a tuple is a list."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, list | tuple):
        return [_plain(key, one) for one in value]
    if isinstance(value, Mapping):
        return {str(name): _plain(key, one) for name, one in value.items()}
    if not isinstance(value, bool | int | float | str):
        raise FedkinError(
            f"{key} cannot be searched over {value!r}: a value is a number, a text, True or False, "
            "or a list or dict of them"
        )
    return value
