"""``name:key=value,key=value``: how a choice and its parameters are written in one word."""

import re
from collections.abc import Callable
from typing import Any

from fedkin.core.errors import FedkinError
from fedkin.runs.spec import literal


def short_form(text: str, first: Callable[[str], str]) -> tuple[str, dict[str, Any]]:
    """``name``, ``name:value`` or ``name:key=value,key=value``; ``first(name)`` is the key of a
    bare first value.

    >>> short_form("dirichlet:0.1,floor=5", lambda name: "alpha")
    ('dirichlet', {'alpha': 0.1, 'floor': 5})
    """
    name, mark, rest = text.partition(":")
    found: dict[str, Any] = {}
    for position, piece in enumerate(pieces(rest) if mark else []):
        key, equals, value = piece.partition("=")
        if equals:
            found[key.strip()] = literal(value.strip())
        elif position or not piece:
            raise FedkinError(
                f"{text!r} is not understood: write name:value or name:key=value,key=value"
            )
        else:
            found[first(name)] = literal(piece)
    return name, found


def pieces(text: str) -> list[str]:
    """Split at commas outside of brackets.

    >>> pieces("groups=[3, 3, 2, 2],train=0.8")
    ['groups=[3, 3, 2, 2]', 'train=0.8']
    """
    depth, pieces = 0, [""]
    for part in re.split(r"([\[\](),])", text):
        depth += {"[": 1, "(": 1, "]": -1, ")": -1}.get(part, 0)
        if part == "," and depth <= 0:
            pieces.append("")
        else:
            pieces[-1] += part
    return [piece.strip() for piece in pieces]
