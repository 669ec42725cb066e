"""Classes of one's own, by ``package.module:Class``: which may be imported, and what they must be
to be called.

A name that nobody has allowed is not imported (``fedkin.core.system.user_code``). What was imported
is called only if it is a torch module or a learner by its class: ``os:system`` is neither.
"""

import inspect
import typing
from collections.abc import Callable
from typing import Any

from torch import nn

from fedkin.core.errors import FedkinError
from fedkin.core.model import Learner
from fedkin.core.system.user_code import UserCode

VERBS = ("start", "fit", "predict")  # of a Learner
_code = UserCode("model", "see docs/security.md")
allow = _code.allow


def user_class(path: str) -> Callable[..., nn.Module | Learner]:
    """The class, or the function with a declared result, that ``package.module:Class`` names.

    Args:
        path: "package.module:Class", or of a function.

    Returns:
        What makes a module or a learner when it is called.

    Raises:
        FedkinError: nobody has allowed it, it cannot be imported, or it makes neither a torch
            module nor a learner.
    """
    function_or_class: Callable[..., nn.Module | Learner] = _code.imported(path)
    if not _makes_a_model(function_or_class):
        wanted = f"a torch.nn.Module or a learner, which has {', '.join(VERBS)}"
        raise FedkinError(
            f"model {path!r} is not called: it is not a class of {wanted}, nor a function "
            "whose declared result "
            "(def make(…) -> nn.Module) is one"
        )
    return function_or_class


def _makes_a_model(function_or_class: Any) -> bool:
    if inspect.isclass(function_or_class):
        return _is_model(function_or_class)
    if not inspect.isfunction(function_or_class):
        return False
    try:
        result = typing.get_type_hints(function_or_class).get("return")
    except Exception:  # a name in an annotation that is not there
        return False
    return inspect.isclass(result) and _is_model(result)


def _is_model(kind: type) -> bool:
    return issubclass(kind, nn.Module) or all(callable(getattr(kind, verb, None)) for verb in VERBS)
