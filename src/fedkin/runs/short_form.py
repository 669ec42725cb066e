"""Settings as they are typed: ``key=value``, and a choice with its parameters in one word."""

import re
from collections.abc import Callable
from typing import Any

from fedkin.core.errors import FedkinError
from fedkin.core.toml import BadToml, parse_toml


def short_form(text: str, first: Callable[[str], str]) -> tuple[str, dict[str, Any]]:
    """A choice with its parameters, as it is typed: ``name``, ``name:value`` or
    ``name:key=value,key=value``.

    >>> short_form("dirichlet:0.1,floor=5", lambda name: "alpha")
    ('dirichlet', {'alpha': 0.1, 'floor': 5})

    Args:
        text: What was typed.
        first: name → the key of a bare first value.

    Returns:
        (name, {key: value}); values as ``literal`` reads them.

    Raises:
        FedkinError: A later piece has no key, or one is empty.
    """
    name, mark, rest = text.partition(":")
    parameters: dict[str, Any] = {}
    for position, piece in enumerate(pieces(rest) if mark else []):
        key, equals, value = piece.partition("=")
        if equals:
            parameters[key.strip()] = literal(value.strip())
        elif position or not piece:
            raise FedkinError(
                f"{text!r} is not understood: write name:value or name:key=value,key=value"
            )
        else:
            parameters[first(name)] = literal(piece)
    return name, parameters


# a bracket, a comma, or a quoted text where a value begins: an apostrophe within a word is a letter
MARK = re.compile(r"""((?<![^\s=,\[{(])(?:"[^"]*"|'[^']*')|[\[\](){},])""")
DEEPER = {"[": 1, "(": 1, "{": 1, "]": -1, ")": -1, "}": -1}


def pieces(text: str) -> list[str]:
    """Split at commas outside of brackets, braces and quotes.

    >>> pieces("groups=[3, 3, 2, 2],train=0.8")
    ['groups=[3, 3, 2, 2]', 'train=0.8']

    Args:
        text: What was typed.

    Returns:
        The pieces, without spaces around them.
    """
    depth, pieces = 0, [""]
    for part in MARK.split(text):
        depth += DEEPER.get(part, 0)
        if part == "," and depth <= 0:
            pieces.append("")
        else:
            pieces[-1] += part
    return [piece.strip() for piece in pieces]


def assign(content: dict[str, Any], key: str, value: Any) -> None:
    """``content[section][key] = value`` for ``key`` = "section.key" (deeper dots nest).

    Args:
        content: {section: {key: value}}, which is changed.
        key: "section.key"; deeper dots nest.
        value: What it becomes.

    Raises:
        FedkinError: What stands before a dot is no section but a value.
    """
    *sections, last = key.split(".")
    place = content
    for section in sections:
        place = place.setdefault(section, {})
        if not isinstance(place, dict):
            raise FedkinError(f"{key}: {section!r} is not a section")
    place[last] = value


def literal(text: str) -> Any:
    """A command-line value: TOML where it parses (numbers, lists, true), else the text itself.

    Args:
        text: What was typed.

    Returns:
        A bool, number, list, dict or text.
    """
    try:
        parsed = parse_toml(f"value = {text}")
    except BadToml:
        return text
    plain = list(parsed) == ["value"] and isinstance(
        parsed["value"], bool | int | float | str | list | dict
    )
    return parsed["value"] if plain else text  # a date is a name here
