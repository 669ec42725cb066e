"""One key that was typed by two spellings: ``--seed 1 --set run.seed=2``. Of two that are spelled
alike each command says so itself.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from fedkin.core.errors import FedkinError


def check_given_once(written: Iterable[tuple[str, Mapping[str, Any]]]) -> None:
    """Refuse what would be lost in silence.

    Args:
        written: (what was typed, {section: {key: value}} that it alone comes to). What was typed
            may repeat: it is one option then, which adds to itself.

    Raises:
        FedkinError: Two come to one key.
    """
    given: dict[str, str] = {}
    for typed, content in written:
        for key in _keys(content):
            other = given.setdefault(key, typed)
            if other != typed:
                if _spelled(other) == _spelled(typed):
                    given[key] = typed  # a list of settings, of which the last counts
                    continue
                raise FedkinError(f"{other} and {typed} both give {key}: leave one of them out")


def _spelled(typed: str) -> str:
    """The option, or the key of --set, without its value."""
    return typed.partition("=")[0] if typed.startswith("--set ") else typed.partition(" ")[0]


def _keys(content: Mapping[str, Any], before: str = "") -> Iterator[str]:
    """section.key of all values, however deep."""
    for key, value in content.items():
        if isinstance(value, Mapping):
            yield from _keys(value, f"{before}{key}.")
        else:
            yield f"{before}{key}"
