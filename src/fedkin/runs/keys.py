"""Keys of a specification as they are typed: where a value goes, and what its text means."""

from typing import Any

from fedkin.core.errors import FedkinError
from fedkin.core.toml import BadToml, parse_toml


def assign(content: dict[str, Any], key: str, value: Any) -> None:
    """``content[section][key] = value`` for ``key`` = "section.key" (deeper dots nest)."""
    *sections, last = key.split(".")
    place = content
    for section in sections:
        place = place.setdefault(section, {})
        if not isinstance(place, dict):
            raise FedkinError(f"{key}: {section!r} is not a section")
    place[last] = value


def literal(text: str) -> Any:
    """A command-line value: TOML where it parses (numbers, lists, true), else the text itself."""
    try:
        found = parse_toml(f"value = {text}")
    except BadToml:
        return text
    plain = list(found) == ["value"] and isinstance(
        found["value"], bool | int | float | str | list | dict
    )
    return found["value"] if plain else text  # a date is a name here
