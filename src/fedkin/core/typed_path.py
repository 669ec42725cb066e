"""Paths as a person types them: with ~, bounded before the system is asked."""

import os
from pathlib import Path

from fedkin.core.errors import FedkinError

LONGEST = 4096  # bytes of a path, as Linux has it
PART = 255  # bytes of one of its names


def typed_path(name: str | Path) -> Path:
    """The path that a person means.

    Args:
        name: As typed; ``~`` and ``~user`` stand for home folders where there is such a user.

    Returns:
        The path, which need not exist.

    Raises:
        FedkinError: No system holds such a name: it is too long, or has a zero byte.
    """
    text = os.path.expanduser(str(name))
    raw = text.encode("utf-8", "replace")
    if b"\0" in raw or len(raw) > LONGEST or any(len(part) > PART for part in raw.split(b"/")):
        raise FedkinError(f"{text[:40]!r}… is no path: a name has at most {PART} bytes, none zero")
    return Path(text)
