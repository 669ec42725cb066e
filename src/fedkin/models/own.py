"""Classes of one's own, by ``package.module:Class``: which may be imported, and what they must be
to be called.

This is the one place where fedkin imports what a file names. A name that nobody has allowed is not
imported, and what was imported is called only if it is a torch module or a learner by its class:
``os:system`` is neither.
"""

import importlib
import inspect
import typing
from collections.abc import Callable, Iterable
from typing import Any

from torch import nn

from fedkin.core.errors import FedkinError, named_line
from fedkin.core.model import Learner

VERBS = ("start", "fit", "predict")  # of a Learner
_allowed: set[str] = set()


def allow(names: Iterable[str]) -> None:
    """Let this process import classes: the person at it has typed their names, or has said that a
    file may name them.

    Args:
        names: each as ``package.module:Class``, without options.
    """
    _allowed.update(names)


def own_class(path: str) -> Callable[..., nn.Module | Learner]:
    """The class, or the function with a declared result, that ``package.module:Class`` names.

    Raises:
        FedkinError: nobody has allowed it, it cannot be imported, or it makes neither a torch
            module nor a learner.
    """
    if path not in _allowed:
        raise FedkinError(
            f"model {path!r} is code of one's own, which nobody has allowed here: see "
            "docs/security.md"
        )
    module_name, _, attribute = path.partition(":")
    try:
        found = getattr(importlib.import_module(module_name), attribute)
    except Exception as error:  # importing runs the user's file: it may raise anything
        raise FedkinError(f"model {path!r} cannot be imported: {named_line(error)}") from None
    if not _makes_a_model(found):
        wanted = f"a torch.nn.Module or a learner, which has {', '.join(VERBS)}"
        raise FedkinError(
            f"model {path!r} is not called: it is not a class of {wanted}, nor a function "
            "whose declared result "
            "(def make(…) -> nn.Module) is one"
        )
    return found  # type: ignore[no-any-return]


def _makes_a_model(found: Any) -> bool:
    if inspect.isclass(found):
        return _is_model(found)
    if not inspect.isfunction(found):
        return False
    try:
        result = typing.get_type_hints(found).get("return")
    except Exception:  # a name in an annotation that is not there
        return False
    return inspect.isclass(result) and _is_model(result)


def _is_model(kind: type) -> bool:
    return issubclass(kind, nn.Module) or all(callable(getattr(kind, verb, None)) for verb in VERBS)
