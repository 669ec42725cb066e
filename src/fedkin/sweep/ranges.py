"""Ranges that a sweep searches, as a person types them."""

import math
import re

from fedkin.core.errors import FedkinError

RANGE = re.compile(r"(log )?(\S+) \.\. (\S+)")
DOTS = re.compile(r"(?<=\d) *\.\. *(?=[-+.\d])")  # between two numbers, with spaces or without


def range_of(text: str, typed: str) -> tuple[float, float, bool] | None:
    """``low .. high`` or ``log low .. high``.

    Args:
        text: All that follows ``--space``, for what is refused.
        typed: What follows the key.

    Returns:
        (low, high, whether on a logarithmic scale); None of what is no range.

    Raises:
        FedkinError: It begins as a range and is none, or its ends are no numbers in rising order.
    """
    if not (match := RANGE.fullmatch(DOTS.sub(" .. ", typed.strip()))):
        if typed.strip().startswith("log "):
            raise FedkinError(f"--space {text} has no range: write log 0.001 .. 0.3")
        return None
    low, high = _number(match[2], text), _number(match[3], text)
    if not -math.inf < low < high < math.inf or (match[1] and low <= 0):
        raise FedkinError(
            f"--space {text}: the first number must be the smaller one, with log above 0"
        )
    return low, high, bool(match[1])


def _number(text: str, whole: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise FedkinError(f"--space {whole} is not understood: write key=low .. high") from None
