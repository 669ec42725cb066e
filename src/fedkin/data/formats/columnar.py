"""Parquet and Arrow files as DataFrames, read by one thread and within a bound on memory."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd

from fedkin.core.errors import FedkinError, first_line
from fedkin.data.formats.memory import room_of_compressed, within_room

WHOLE = 18  # digits of a whole number that int64 holds, whichever they are


def read_parquet(path: Path) -> pd.DataFrame:
    """The rows of a Parquet file.

    Args:
        path: The file.

    Returns:
        Its columns, in their order.

    Raises:
        FedkinError: It is damaged, takes too much memory, or pyarrow is not installed.
    """
    return _columnar(path, "Parquet", _parquet)


def read_arrow(path: Path) -> pd.DataFrame:
    """The rows of an Arrow (Feather) file.

    Args:
        path: The file.

    Returns:
        Its columns, in their order.

    Raises:
        FedkinError: It is damaged, takes too much memory, or pyarrow is not installed.
    """
    return _columnar(path, "Arrow", _arrow)


def to_frame(table: Any, pool: Any) -> pd.DataFrame:
    """A table of pyarrow's, once every text and every offset in it was looked at: a damaged one
    leads beyond its own memory. Decimals become numbers; a named index is a column.

    Args:
        table: A ``pyarrow.Table``.
        pool: The ``pyarrow.MemoryPool`` that the copy is taken of.

    Returns:
        The same columns.
    """
    table.validate(full=True)
    frame: pd.DataFrame = _with_numbers(table).to_pandas(use_threads=False, memory_pool=pool)
    return _with_index(frame, table.column_names)


def _with_index(frame: pd.DataFrame, columns: list[str]) -> pd.DataFrame:
    """What pandas once wrote as a named index is a column of the file, as any other."""
    levels = [
        level
        for level, name in enumerate(frame.index.names)
        if name is not None and str(name) in columns and name not in frame.columns
    ]
    return frame.reset_index(level=levels) if levels else frame


def _with_numbers(table: Any) -> Any:
    """Decimals as numbers: pandas has only objects for them, which would be words."""
    import pyarrow

    for at, field in enumerate(table.schema):
        if pyarrow.types.is_decimal(field.type):
            whole = field.type.scale == 0 and field.type.precision <= WHOLE
            kind = pyarrow.int64() if whole else pyarrow.float64()
            table = table.set_column(at, field.name, table.column(at).cast(kind))
    return table


def _columnar(path: Path, format: str, reader: Callable[[Any, Any], Any]) -> pd.DataFrame:
    try:
        import pyarrow
    except ImportError:
        raise FedkinError(
            f"{path}: reading {format} needs pyarrow, the extra parquet: in fedkin's checkout, "
            "pip install -c constraints.txt '.[parquet]'"
        ) from None
    # pyarrow's own allocator reserves a gigabyte at its first use. Counted against the bound, that
    # would leave no room for threads, for whose work pyarrow then waits for ever: so it is
    # reserved before, nothing here needs a thread, and the table itself comes from the system.
    pyarrow.allocate_buffer(1)
    pool = pyarrow.system_memory_pool()
    try:
        with (
            within_room(path, room_of_compressed(path)),
            pyarrow.OSFile(str(path), memory_pool=pool) as file,
        ):
            return to_frame(reader(file, pool), pool)
    except FedkinError:
        raise
    except OSError as error:
        raise FedkinError(f"{path} cannot be read: {error.strerror or 'it is damaged'}") from None
    except Exception as error:  # pyarrow's errors cannot be named where it is not installed
        raise FedkinError(f"{path} is not a readable {format} file: {first_line(error)}") from None


def _parquet(file: Any, pool: Any) -> Any:
    import pyarrow
    from pyarrow import parquet

    before = pyarrow.default_memory_pool()
    pyarrow.set_memory_pool(pool)  # the only way to name one
    try:
        return parquet.ParquetFile(file, pre_buffer=False).read(use_threads=False)
    finally:
        pyarrow.set_memory_pool(before)


def _arrow(file: Any, pool: Any) -> Any:
    from pyarrow import ipc

    options = ipc.IpcReadOptions(use_threads=False)
    return ipc.open_file(file, options=options, memory_pool=pool).read_all()
