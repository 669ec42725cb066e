"""What Python callers give: data as a value (a DataFrame, columns, or arrays), of which a run keeps
a copy in its folder; methods, experiments and files of the kinds that are taken.
"""

import io
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from fedkin.core.errors import FedkinError
from fedkin.core.files import write_file
from fedkin.core.method import Method
from fedkin.core.system.user_code import is_user_code
from fedkin.data.formats.array_names import meant_by, unread
from fedkin.data.tables.given_frame import as_csv, categories_in, names_in
from fedkin.data.tables.nested import nested_in
from fedkin.runs.directory import GIVEN

TABLE, ARRAYS = GIVEN
PARTS = ({"x", "y"}, {"x_train", "y_train", "x_test", "y_test"})


class GivenData(NamedTuple):
    """``file``: what the run's copy is called. ``content``: its bytes. ``says``: it in words.
    ``categories``: columns that are categories though the copy holds numbers; ``names``: those of
    which the same is true as labels. ``unread``: what is said of arrays that nothing reads.
    ``index_names``: those of a DataFrame's index, which is no column of the copy.
    """

    file: str
    content: bytes
    says: str
    has_clients: bool = False
    categories: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    unread: tuple[str, ...] = ()
    index_names: tuple[str, ...] = ()

    def write(self, folder: Path) -> Path:
        """Write the copy, which the run's specification names: it is resumed from it.

        Args:
            folder: Where it goes.

        Returns:
            The path of the copy.
        """
        path = folder / self.file
        write_file(path, self.content)
        return path


def given_data(value: Any) -> GivenData:
    """A table of a DataFrame or of a dict of columns, arrays of a dict with x and y.

    Args:
        value: A DataFrame, a dict of columns, or a dict of arrays with x and y (or x_train,
            y_train, x_test, y_test).

    Returns:
        What is written beside the run.

    Raises:
        FedkinError: It is of another kind, has no rows, columns of unlike lengths or of the same
            name, or cells that hold lists or dicts.
    """
    import pandas as pd

    if isinstance(value, Mapping) and any(part <= {*value} for part in PARTS):
        return _arrays({str(key): np.asarray(item) for key, item in value.items()})
    if isinstance(value, Mapping):
        try:
            value = pd.DataFrame({str(key): item for key, item in value.items()})
        except ValueError as error:
            raise FedkinError(
                f"data: columns do not fit together: {error}{_arrays_meant(value)}"
            ) from None
    if not isinstance(value, pd.DataFrame):
        raise FedkinError(
            f"data is a {type(value).__name__}: give a name, a path, a DataFrame, a dict of "
            "columns, or a dict of arrays with x and y"
        )
    rows, columns = value.shape
    if not rows:
        raise FedkinError("data: the DataFrame has no rows")
    twice = value.columns[value.columns.duplicated()]
    if len(twice):
        raise FedkinError(
            f"data: column {str(twice[0])!r} appears twice: give every column its own name"
        )
    for name in value.columns:
        if what := nested_in(value[name]):
            raise FedkinError(
                f"data: column {str(name)!r} of the DataFrame holds {what}: make a column of each "
                f"of their values, or leave it out: df.drop(columns={name!r})"
            )
    return GivenData(
        TABLE,
        as_csv(value),
        f"<DataFrame: {rows:,} rows, {columns} columns>",
        categories=categories_in(value),
        names=names_in(value),
        index_names=tuple(str(name) for name in value.index.names if name is not None),
    )


def _arrays(arrays: dict[str, np.ndarray[Any, Any]]) -> GivenData:
    odd = next((name for name, one in arrays.items() if one.dtype == object), None)
    if odd is not None:
        raise FedkinError(f"data: the array {odd!r} holds objects, not numbers or texts")
    unread_names = unread(list(arrays))
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)  # type: ignore[arg-type]
    shapes = ", ".join(f"{name} {list(one.shape)}" for name, one in arrays.items())
    return GivenData(
        ARRAYS,
        buffer.getvalue(),
        f"<arrays: {shapes}>",
        any(n.startswith("client") for n in arrays),
        unread=tuple(unread_names),
    )


def _arrays_meant(columns: Mapping[Any, Any]) -> str:
    """The hint at x or y, for who calls arrays so that they go for columns of a table."""
    for name in map(str, columns):
        meant = meant_by(name)
        if meant is not None and meant[0] in "xy" and meant != name:
            return f" (did you mean the array {meant!r} by {name!r}?)"
    return ""


def check_method(method: Any) -> None:
    """Refuse what would be dropped without a word: a function that makes a method, above all.

    Args:
        method: What a caller gave in the method's place.

    Raises:
        FedkinError: It is neither None, a name nor a Method.
    """
    if method is None or isinstance(method, str | Method):
        return
    name = getattr(method, "__name__", None)
    called = f": call it, as {name}(lr=0.1)" if callable(method) and name else ""
    raise FedkinError(
        f"method is neither a name nor a Method, but a {type(method).__name__}{called}"
    )


def measure_name(measure: Any) -> str:
    """A measure as it is named; one of one's own is a function of a file, not a value.

    Args:
        measure: As a caller gives it.

    Returns:
        The name.

    Raises:
        FedkinError: It is a function, with the name to write in its place.
    """
    if isinstance(measure, str) or not callable(measure):
        return str(measure)
    name, file = getattr(measure, "__qualname__", ""), getattr(measure, "__module__", "")
    importable = (
        is_user_code(f"{file}:{name}") and file != "__main__"
    )  # workers have another __main__
    text = (
        f"'{file}:{name}'"
        if importable
        else "'my_measures:top_two_score', of a file my_measures.py"
    )
    raise FedkinError(f"measure is a function, where its name is taken: write measure={text}")


def check_experiment(experiment: Any, kind: type) -> None:
    """Refuse what is no experiment, such as the name of a method.

    Args:
        experiment: What a caller gave.
        kind: The class Experiment.

    Raises:
        FedkinError: It is of another class.
    """
    if not isinstance(experiment, kind):
        raise FedkinError(
            f"run takes an Experiment, not {type(experiment).__name__}: "
            "run(Experiment(method='fedavg'))"
        )


def file_of(data: Any) -> Path:
    """The path of a newcomer's file.

    Args:
        data: What a caller gave.

    Returns:
        The path, which need not be there.

    Raises:
        FedkinError: It is a table or arrays, not a path.
    """
    if not isinstance(data, str | PathLike):
        raise FedkinError(
            f"data is a file of the newcomer's samples, not a {type(data).__name__}: write a table "
            "with to_csv, arrays with numpy.savez"
        )
    return Path(data)
