"""Values from Python as an experiment file holds them: numpy's and torch's numbers, arrays and
paths stand for plain ones.
"""

import datetime
import os
from collections.abc import Mapping
from typing import Any

from fedkin.core.errors import FedkinError


def plain(keyword: str, value: Any) -> Any:
    """A value of a keyword as numbers, texts, and lists and dicts of these.

    >>> from pathlib import Path
    >>> plain("out", Path("runs/a")), plain("split", {"groups": (3, 2)})
    ('runs/a', {'groups': [3, 2]})

    Args:
        keyword: Whose value it is, for the message.
        value: Any one; a number or an array of numpy, torch or pandas, a path, a date too.

    Returns:
        The same in plain types; None stays.

    Raises:
        FedkinError: It is of a type that no file holds.
    """
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, Mapping):
        return {str(key): plain(keyword, one) for key, one in value.items()}
    if isinstance(value, set | frozenset):
        value = sorted(value, key=str)
    if isinstance(value, list | tuple):
        return [plain(keyword, one) for one in value]
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, datetime.date | datetime.time):
        return str(value)
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise FedkinError(
        f"{keyword}=… holds a {type(value).__name__}: give a number, a text, or a list or a dict "
        "of these"
    )
