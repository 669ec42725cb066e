"""What Python callers give for an experiment, its method and its data: of the kinds that are
taken, or refused in a sentence.
"""

from os import PathLike
from pathlib import Path
from typing import Any

from fedkin.core.errors import FedkinError
from fedkin.core.method import Method


def check_method(method: Any) -> None:
    """Refuse what would be dropped without a word: a function that makes a method, above all."""
    if method is None or isinstance(method, str | Method):
        return
    name = getattr(method, "__name__", None)
    called = f": call it, as {name}(lr=0.1)" if callable(method) and name else ""
    raise FedkinError(
        f"method is neither a name nor a Method, but a {type(method).__name__}{called}"
    )


def check_experiment(experiment: Any, kind: type) -> None:
    """Raise FedkinError for what is no ``kind``, such as the name of a method."""
    if not isinstance(experiment, kind):
        raise FedkinError(
            f"run takes an Experiment, not {type(experiment).__name__}: "
            "run(Experiment(method='fedavg'))"
        )


def file_of(data: Any) -> Path:
    """The path of a newcomer's file. Raises FedkinError for tables and arrays themselves."""
    if not isinstance(data, str | PathLike):
        raise FedkinError(
            f"data is a file of the newcomer's samples, not a {type(data).__name__}: write a table "
            "with to_csv, arrays with numpy.savez"
        )
    return Path(data)
