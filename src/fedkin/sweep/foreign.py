"""A trial that another process, perhaps a stranger's, began: it sets what the search sets, and
nothing else. Its values are those of the space, its folder is one of the sweep's.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fedkin.core.errors import FedkinError
from fedkin.runs.directory import path_in_run
from fedkin.sweep.space import Space


def taken_over(
    folder: Path, space: Space, number: int, values: Mapping[str, Any], name: object
) -> Path:
    """The run directory of a trial that another process began.

    Args:
        folder: Of the sweep.
        space: What is searched.
        number: Of the trial.
        values: The keys that it sets.
        name: Of its run directory.

    Returns:
        A path in the sweep's folder.

    Raises:
        FedkinError: A key or a value that this search does not have, or a folder elsewhere.
    """
    fits = set(values) == set(space) and all(
        _within(values[key], choices) for key, choices in space.items()
    )
    if not fits:
        raise FedkinError(
            f"{folder}: trial {number + 1} sets what this search does not: choose another --out"
        )
    return path_in_run(folder, str(name))


def _within(value: Any, choices: Any) -> bool:
    """Whether a value is one of a list, or between the ends of a range (low, high, …)."""
    if isinstance(choices, list):
        return any(value == one and type(value) is type(one) for one in choices)
    low, high, _ = choices
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return number and bool(low <= value <= high)
