"""What a user gives to a source or a partition, held against what its function takes, before it is
called.
"""

import inspect
import json
from collections.abc import Callable, Mapping
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np
from pydantic import TypeAdapter, ValidationError

from fedkin.core.errors import FedkinError

KINDS = {
    int: ("a whole number", "whole numbers"),
    float: ("a number", "numbers"),
    str: ("text", "texts"),
}


def check_arguments(
    recipe: Callable[..., Any], given: Mapping[str, Any], section: str, name: str
) -> None:
    """Refuses the first value of a kind that ``recipe`` does not take; ranges are its own
    business.

    ``section`` and ``name`` say where it was given: "split" and "dirichlet", "data" and "a table".

    Args:
        recipe: The function that will take the values; its annotations say which kinds fit.
        given: Parameter → value, as read from a specification.
        section: The table of the specification: "split".
        name: What the values are given to: "dirichlet", "a table".

    Raises:
        FedkinError: A value of another kind; names the nearest that would do.
    """
    hints = get_type_hints(recipe) if given else {}
    for key, value in given.items():
        try:
            TypeAdapter(hints[key]).validate_python(_plain(value), strict=True)
        except ValidationError:
            default = inspect.signature(recipe).parameters[key].default
            raise FedkinError(
                f"{section}.{key} of {name} must be {_words(hints[key])}, not {value!r}"
                f"{_nearest(f'{section}.{key}', value, hints[key], default)}"
            ) from None


def _plain(value: Any) -> Any:
    """NumPy's numbers and arrays as Python's."""
    return value.tolist() if isinstance(value, np.generic | np.ndarray) else value


def _words(hint: Any, many: bool = False) -> str:
    """An annotation as people say it."""
    inner = [one for one in get_args(hint) if one not in (NoneType, Ellipsis)]
    if hint is Any:
        return "values" if many else "a value"
    if hint in KINDS:
        return KINDS[hint][many]
    if get_origin(hint) is Literal:
        *others, last = map(repr, inner)
        return f"{', '.join(others)} or {last}" if others else last
    if get_origin(hint) in (Union, UnionType):
        return " or ".join(_words(one, many) for one in inner)
    if get_origin(hint) is Mapping:
        return f"{'tables' if many else 'a table'} of {_words(inner[1], many=True)}"
    return f"{'lists' if many else 'a list'} of {_words(inner[0], many=True)}"


def _nearest(key: str, value: Any, hint: Any, default: Any) -> str:
    """A number where text is wanted may be a name in quotes; any other value has a default beside
    it.
    """
    if isinstance(value, int | float) and str in (hint, *get_args(hint)):
        return f": in quotes it is text, --set '{key}={json.dumps(str(value))}'"
    if default is None or default == ():
        return ""
    return f": its default is {list(default) if isinstance(default, tuple) else default!r}"
