"""TOML that anybody may have written: bounded before it is parsed, and every way in which it fails
is one error.
"""

import math
import re
import tomllib
from collections.abc import Iterator
from typing import Any

LARGEST = 1 << 20  # bytes; the longest specification of a run here is 6,000
# of a key: tomllib's work grows with the square of its parts
DOTS = re.compile(r"""(?<![\w-])(?:(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')\s*+\.\s*+){64}""")


class BadToml(ValueError):
    """What is wrong with it, in one line."""


def parse_toml(text: str) -> dict[str, Any]:
    """The content of a TOML document.

    Args:
        text: The document.

    Returns:
        Keys in the order of the document.

    Raises:
        BadToml: It is no TOML, is too long or too deep, or holds a whole number of more than 64
            bits.
    """
    if len(text) > LARGEST:
        raise BadToml(f"it is longer than {LARGEST:,} letters")
    if DOTS.search(text):
        raise BadToml("a key in it has more than 64 parts")
    try:
        found = tomllib.loads(text)
    except RecursionError:
        raise BadToml("it is nested too deep") from None
    except tomllib.TOMLDecodeError as error:
        raise BadToml(str(error).splitlines()[0][:200]) from None
    except ValueError:  # of int(), whose own words are for programmers
        raise BadToml("a number in it has thousands of digits") from None
    if key := beyond_64_bits(found):
        raise BadToml(f"{key} has more than 64 bits")
    return found


def beyond_64_bits(content: Any) -> str | None:
    """The key of a whole number that no array holds, and Python prints only up to 4,300 digits.

    Args:
        content: Tables, lists and values, nested.

    Returns:
        Its parts joined by dots; None where there is no such number.
    """
    for key, value in _values(content):
        if isinstance(value, int) and not -(2**63) <= value < 2**63:
            return key[:200]
    return None


def not_finite(content: Any) -> str | None:
    """The key of NaN or infinity, for which JSON, and so a record, has no number.

    Args:
        content: Tables, lists and values, nested.

    Returns:
        Its parts joined by dots; None where every number is finite.
    """
    for key, value in _values(content):
        if isinstance(value, float) and not math.isfinite(value):
            return key[:200]
    return None


def _values(content: Any) -> Iterator[tuple[str, Any]]:
    """Every value that is neither a table nor a list, with its key."""
    rest = [("", content)]
    while rest:
        key, value = rest.pop()
        if isinstance(value, dict):
            rest += [(f"{key}.{name}" if key else str(name), one) for name, one in value.items()]
        elif isinstance(value, (list, tuple)):
            rest += [(key, one) for one in value]
        else:
            yield key, value
