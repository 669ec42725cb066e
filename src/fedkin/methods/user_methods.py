"""Methods that are not fedkin's: which of them may be imported by ``package.module:function``, and
what they must be to be called.

A name that nobody has allowed is not imported (``fedkin.core.system.user_code``). What was imported
is called only if it says that it makes a method: ``os:system`` and ``shutil:rmtree`` do not.
"""

import inspect
import typing
from collections.abc import Callable
from functools import wraps
from typing import Any

from fedkin.core.errors import FedkinError
from fedkin.core.hyperparameters import as_recorded, in_range, weighted_by
from fedkin.core.method import Method
from fedkin.core.system.no_exit import no_exit
from fedkin.core.system.user_code import UserCode, named_line_of

SHAPE = "def make(*, lr: float) -> Method"
NAMED = (inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
_code = UserCode("method", "say --trust-code if you trust where it comes from")
allow = _code.allow


def user_recipe(path: str) -> Callable[..., Method]:
    """The function that ``package.module:function`` names; it is not called.

    Args:
        path: As a person typed it, or allowed a file to name it.

    Returns:
        A function of named hyper-parameters whose declared result is a method.

    Raises:
        FedkinError: Nobody has allowed it, it cannot be imported, or it is no such function.
    """
    found = _code.imported(path)
    if not inspect.isfunction(found) or not _declares_a_method(found):
        raise FedkinError(
            f"method {path!r} is no function that makes a method: one is called only if it "
            f"declares its result ({SHAPE})"
        )
    for one in inspect.signature(found).parameters.values():
        if one.kind not in NAMED:
            raise FedkinError(
                f"method {path!r} takes {one}: give each of its hyper-parameters a name ({SHAPE})"
            )
    return found


def _declares_a_method(found: Callable[..., Any]) -> bool:
    try:
        result = typing.get_type_hints(found).get("return")
    except Exception:  # a name in an annotation that is not there
        return False
    return inspect.isclass(result) and issubclass(result, Method)


def user_method(name: str, recipe: Callable[..., Method], values: dict[str, Any]) -> Method:
    """The method of a recipe that is not fedkin's.

    Its ``hyper`` is what the recipe was given, as with ``declared``: a method that is made of
    another one has that one's, and a run writes down what it finds there, to make it again.

    Args:
        name: What messages call the method.
        recipe: The function.
        values: Hyper-parameters by their names.

    Returns:
        The method.

    Raises:
        FedkinError: A value is out of range, the recipe fails, makes no method, or one
            whose aggregation does not go by its ``weights``.
    """

    @wraps(recipe)
    def made(**given: Any) -> Method:
        with no_exit():
            method = recipe(**given)
        if not isinstance(method, Method):
            raise FedkinError(f"{name} makes no fedkin.Method, but {type(method).__name__}")
        return weighted_by(method, given, name)._replace(hyper=as_recorded(given))

    try:
        return in_range(made, name)(**values)
    except FedkinError:
        raise
    except Exception as error:  # somebody else's function may raise anything
        raise FedkinError(f"method {name!r} cannot be made: {named_line_of(error)}") from None
