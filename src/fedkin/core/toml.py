"""TOML that anybody may have written: bounded before it is parsed, and every way in which it fails
is one error.
"""

import re
import tomllib
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
        BadToml: It is no TOML, is too long or too deep, or holds a number with thousands of digits.
    """
    if len(text) > LARGEST:
        raise BadToml(f"it is longer than {LARGEST:,} letters")
    if DOTS.search(text):
        raise BadToml("a key in it has more than 64 parts")
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise BadToml("it is nested too deep") from None
    except (
        ValueError
    ) as error:  # tomllib's own is one, and so is that of a number with too many digits
        raise BadToml(str(error).splitlines()[0][:200]) from None
