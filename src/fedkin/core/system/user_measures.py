"""Measures that are not fedkin's: which of them may be imported by ``package.module:function``, and
what they must be to be called.

A name that nobody has allowed is not imported (``fedkin.core.system.user_code``). What was imported
is called only if it declares that it gives a number for two arrays: ``os:system`` does not.
"""

import inspect
import math
import typing
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedkin.core.errors import FedkinError
from fedkin.core.system.no_exit import no_exit
from fedkin.core.system.user_code import UserCode, named_line_of

SHAPE = "def net_benefit_score(p, y) -> float"
Computed = Callable[[NDArray[np.float64], NDArray[Any]], float]
_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
_code = UserCode("measure", "say --trust-code if you trust where it comes from")
allow = _code.allow


def user_measure(path: str) -> Computed:
    """The function that ``package.module:function`` names; it is not called.

    Args:
        path: As a person typed it, or allowed a file to name it.

    Returns:
        A function of predictions and labels whose declared result is a number.

    Raises:
        FedkinError: Nobody has allowed it, it cannot be imported, or it is no such function.
    """
    found: Computed = _code.imported(path)
    if not inspect.isfunction(found) or not _declares_a_number(found):
        raise FedkinError(
            f"measure {path!r} is no function that gives a number: one is called only if it "
            f"declares its result ({SHAPE})"
        )
    if not _takes_two(found):
        raise FedkinError(
            f"measure {path!r} takes {inspect.signature(found)}: it is called with predictions "
            f"and labels ({SHAPE})"
        )
    return found


def own_value(path: str, p: NDArray[np.float64], y: NDArray[Any]) -> float | None:
    """What a measure of one's own says of one client's predictions.

    Args:
        path: ``package.module:function``, which is allowed.
        p: Class probabilities [n, classes]; means [n, 1] of numbers.
        y: Labels [n].

    Returns:
        In its own unit; None where it gives nan or infinity: it is not defined there.

    Raises:
        FedkinError: It fails, or gives something else than a number.
    """
    function = user_measure(path)
    try:
        with no_exit():
            value = function(p.copy(), y.copy())  # what it changes is its own
    except Exception as error:  # somebody else's function may raise anything
        raise FedkinError(f"measure {path!r} failed: {named_line_of(error)}") from None
    if not isinstance(value, (int, float, np.integer, np.floating)):
        raise FedkinError(f"measure {path!r} gives no number, but {type(value).__name__}")
    return float(value) if math.isfinite(value) else None


@cache  # a bootstrap asks a hundred times a client
def _declares_a_number(found: Callable[..., Any]) -> bool:
    try:
        result = typing.get_type_hints(found).get("return")
    except Exception:  # a name in an annotation that is not there
        return False
    if not inspect.isclass(result) or issubclass(result, bool):
        return False
    return issubclass(result, (float, int, np.floating, np.integer))


@cache
def _takes_two(found: Callable[..., Any]) -> bool:
    parameters = list(inspect.signature(found).parameters.values())
    first, others = parameters[:2], parameters[2:]
    return (
        len(first) == 2
        and all(one.kind in _POSITIONAL for one in first)
        and all(one.default is not one.empty for one in others)
    )
