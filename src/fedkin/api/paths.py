"""Paths as Python callers give them."""

import os
from pathlib import Path

from fedkin.core.errors import FedkinError


def path_of(given: object, what: str) -> Path:
    """A path from a text, or from a path of any kind.

    Args:
        given: What the caller gave.
        what: What it is the path of, for the message.

    Returns:
        The path, as it was given.

    Raises:
        FedkinError: It is neither, or it is bytes.
    """
    path = os.fspath(given) if isinstance(given, os.PathLike) else given
    if not isinstance(path, str):
        raise FedkinError(
            f"{what} is a path (a text or a pathlib.Path), not {type(given).__name__}"
        )
    return Path(path)
