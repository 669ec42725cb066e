"""What ``--json`` prints."""

import json
from typing import Any

from fedkin.core.escaping import as_json
from fedkin.experiment.terminal import say_all
from fedkin.runs.bounds import finite


def print_json(value: Any) -> None:
    """Pure JSON on standard output.

    Args:
        value: Plain values and NumPy numbers; nan and infinity become null.
    """
    text = json.dumps(finite(value), indent=2, ensure_ascii=False, allow_nan=False)
    say_all(as_json(text) + "\n")
