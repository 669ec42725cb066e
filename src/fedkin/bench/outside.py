"""Methods of other people's modules, by ``package.module:function``. Here alone the leaderboard
imports what a name says: only names that a person has typed, or allowed.
"""

import importlib
import inspect
from collections.abc import Iterable
from typing import Any

from fedkin.core.errors import FedkinError, named_line
from fedkin.core.method import Method
from fedkin.methods import known_name, made_by

_allowed: set[str] = set()


def allow(names: Iterable[str]) -> None:
    """Let this process import functions that make methods: a person has typed their names, or has
    said that a row may name them.
    """
    _allowed.update(names)


def is_outside(name: str) -> bool:
    """Whether a name is that of a function in somebody's module."""
    return ":" in name


def checked_name(name: str) -> str:
    """The method's own name, or the path of one that can be imported."""
    if not is_outside(name):
        return known_name(name)
    _function(name)
    return name


def outside_method(name: str, hyper: dict[str, Any], lr: float) -> Method:
    """The method that ``package.module:function`` makes.

    Raises FedkinError: nobody has allowed it, it cannot be imported, it is no function that makes
    a method, or a hyper-parameter is not its own.
    """
    found = made_by(name, _function(name), hyper, {"lr": lr})
    if not isinstance(found, Method):
        raise FedkinError(f"{name} makes no fedkin.Method, but {type(found).__name__}")
    return found


def _function(path: str) -> Any:
    if path not in _allowed:
        raise FedkinError(
            f"method {path!r} is code of somebody's own, which nobody has allowed here: say "
            "--trust-code if you trust where it comes from"
        )
    module, _, attribute = path.partition(":")
    try:
        found = getattr(importlib.import_module(module), attribute)
    except Exception as error:  # importing runs somebody's file: it may raise anything
        raise FedkinError(f"method {path!r} cannot be imported: {named_line(error)}") from None
    if not inspect.isfunction(found):
        raise FedkinError(f"method {path!r} is no function that makes a method")
    return found
