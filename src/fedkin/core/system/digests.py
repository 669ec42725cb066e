"""Plain values as text, by which they are compared, and the short digest of a text or a file."""

import hashlib
import json
from typing import Any


def text_of(value: Any) -> str:
    """A value as text, the same in whatever order its keys stand.

    >>> text_of({"b": 1, "a": None})
    '{"a": null, "b": 1}'

    Args:
        value: Of what JSON has; anything else in it is shown as ``str`` shows it.

    Returns:
        JSON on one line, with keys in alphabetical order.
    """
    return json.dumps(value, sort_keys=True, default=str)


def short(content: str | bytes) -> str:
    """What stands for a text, or for a file's bytes.

    >>> short("fedkin")
    'f06b97e7f62f'

    Args:
        content: Any.

    Returns:
        The first twelve hexadecimal digits of its sha256.
    """
    whole = content.encode() if isinstance(content, str) else content
    return hashlib.sha256(whole).hexdigest()[:12]
