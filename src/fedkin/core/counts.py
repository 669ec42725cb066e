"""Numbers that somebody gives: of rounds and trials from Python, for which the command line has its
own bounds, what is none, and what a share of a number is.
"""

from numbers import Integral
from typing import Any, get_args

from fedkin.core.errors import FedkinError


def at_least(least: int, **counts: int | None) -> None:
    """Refuses what is no whole number, or a smaller one.

    >>> at_least(0, rounds=3, trials=None)

    Args:
        least: The smallest that fits.
        **counts: What was given, by the name of its argument; None: nothing was.

    Raises:
        FedkinError: Names the argument and what would fit.
    """
    for name, value in counts.items():
        # one of numpy's is a whole number too, and true is none
        whole = isinstance(value, Integral) and not isinstance(value, bool)
        if value is not None and (not whole or value < least):
            raise FedkinError(f"{name}={value!r} must be a whole number of at least {least}")


def truth_for_number(value: object, annotation: Any) -> bool:
    """Whether true or false stands where only a number does: pydantic takes them for 1 and 0.

    >>> truth_for_number(True, float | None), truth_for_number(True, int | bool)
    (True, False)

    Args:
        value: What was given.
        annotation: The type that is wanted, or a union of types.

    Returns:
        False where the annotation takes a boolean.
    """
    return (
        isinstance(value, bool)
        and not _names(annotation, bool)
        and (_names(annotation, float) or _names(annotation, int))
    )


def without_rounding_error(value: float) -> float:
    """What a share comes to, before its ceiling or its floor is taken: 0.07 · 100 is more than 7 in
    floating point, and 0.29 · 100 less than 29.

    >>> 0.07 * 100, without_rounding_error(0.07 * 100)
    (7.000000000000001, 7.0)
    >>> 0.29 * 100, without_rounding_error(0.29 * 100)
    (28.999999999999996, 29.0)

    Args:
        value: A product or a quotient of two decimal numbers.

    Returns:
        The same, to nine decimals.
    """
    return round(value, 9)


def _names(annotation: Any, kind: type) -> bool:
    return annotation is kind or any(_names(one, kind) for one in get_args(annotation))
