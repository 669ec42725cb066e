"""A study.db that somebody else made: what it may hold, before anything of it is used.

SQLite and Optuna are given a file only after a look at it. A trial that is taken over sets what the
search sets, and nothing else: its values are those of the space, its folder is one of the sweep's.
"""

from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from fedkin.core.errors import FedkinError
from fedkin.runs.directory import own
from fedkin.runs.untrusted_database import MASTER, check_file, tables_of
from fedkin.sweep.space import Space


def check_database(path: Path, optuna: Any) -> None:
    """Refuse a database with other tables than Optuna's, with views or triggers, or with a journal
    that would delete other files. Nothing is said of a file that is not there.

    Args:
        path: Of the study.
        optuna: The package.

    Raises:
        FedkinError: It is no study of this version of Optuna.
    """
    if not path.exists():
        return
    check_file(path, "study")
    tables = tables_of(path)
    if tables and tables != _tables(optuna):
        raise FedkinError(
            f"{path} cannot be used: its tables are not those of Optuna {optuna.__version__}"
        )


def _tables(optuna: Any) -> set[tuple[Any, ...]]:
    """What Optuna makes in a database of memory."""
    storage = optuna.storages.RDBStorage("sqlite:///:memory:")
    with closing(storage.engine.raw_connection()) as connection:
        return set(connection.cursor().execute(MASTER).fetchall())


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
    return own(folder, str(name))


def _within(value: Any, choices: Any) -> bool:
    """Whether a value is one of a list, or between the ends of a range (low, high, …)."""
    if isinstance(choices, list):
        return any(value == one and type(value) is type(one) for one in choices)
    low, high, _ = choices
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return number and bool(low <= value <= high)
