"""What ``--json`` prints."""

import json
import math
from collections.abc import Mapping
from typing import Any

from fedkin.core.escaping import as_json
from fedkin.experiment.terminal import say_all


def print_json(value: Any) -> None:
    """Pure JSON on standard output.

    Args:
        value: Plain values and NumPy numbers; nan and infinity become null.
    """
    text = json.dumps(_plain(value), indent=2, ensure_ascii=False, allow_nan=False)
    say_all(as_json(text) + "\n")


def _plain(value: Any) -> Any:
    """JSON has no nan and no infinity: they become null."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if hasattr(value, "item"):  # a NumPy number
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value
