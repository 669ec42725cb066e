"""The file study.db: made whole, looked at before anything of it is used, and what is said where it
cannot be read or written.

SQLite and Optuna are given a file that somebody else may have made only after a look at it.
"""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from fedkin.core.errors import FedkinError, first_line, named_line, reason
from fedkin.runs.directory import check_written, path_in_run
from fedkin.runs.untrusted_database import MASTER, check_file, journal_of, tables_of


def address(path: Path) -> str:
    """How Optuna is told where the file is, whatever its folder is called.

    Args:
        path: Of the study.

    Returns:
        An address of SQLAlchemy's, which reads %20 as a space, ? as the end of the path, and {…}
        as Optuna's own.
    """
    text = str(path)
    for mark in "%?{}":
        text = text.replace(mark, f"%{ord(mark):X}")
    return f"sqlite:///{text}"


def check_database(path: Path, optuna: Any) -> None:
    """Refuse a database with other tables than Optuna's, with views or triggers, or with a journal
    that would delete other files. One that is not there yet is made, with all of its tables.

    Args:
        path: Of the study, in a folder that is there.
        optuna: The package.

    Raises:
        FedkinError: It is no study of this version of Optuna, or a link.
    """
    check_written(path)
    if path.exists():
        check_file(path, "study")
        tables = tables_of(path)
        if tables and tables != _tables(optuna):
            raise FedkinError(
                f"{path} cannot be used: its tables are not those of Optuna {optuna.__version__}"
            )
        if tables:
            return
    _make(path, optuna)


def _make(path: Path, optuna: Any) -> None:
    """All tables at once: Optuna makes them one by one, and may be killed between two."""
    part = path_in_run(path.parent, f"{path.name}.part")
    for left in (part, journal_of(part), journal_of(path)):  # the last: of a file that is gone
        left.unlink(missing_ok=True)
    optuna.storages.RDBStorage(address(part)).engine.dispose()
    part.replace(path)


def _tables(optuna: Any) -> set[tuple[Any, ...]]:
    """What Optuna makes in a database of memory."""
    storage = optuna.storages.RDBStorage("sqlite:///:memory:")
    with closing(storage.engine.raw_connection()) as connection:
        return set(connection.cursor().execute(MASTER).fetchall())


@contextmanager
def usable(path: Path, optuna: Any) -> Iterator[None]:
    """What Optuna does in the block with a study; what it cannot do is told in a sentence.

    Args:
        path: Of the study.
        optuna: The package.

    Yields:
        Nothing.

    Raises:
        FedkinError: The disk is full, say, or the file is damaged.
    """
    from sqlalchemy.exc import SQLAlchemyError

    try:
        yield
    except OSError as error:
        raise FedkinError(f"{path} cannot be used: {reason(error)}") from None
    # ValueError and LookupError: of a trial that is not as Optuna left it
    except (optuna.exceptions.OptunaError, SQLAlchemyError, ValueError, LookupError) as error:
        raise FedkinError(f"{path} cannot be used: {first_line(_cause(error))}") from None


@contextmanager
def believed(path: Path) -> Iterator[None]:
    """What is read in the block is of a study that somebody may have edited.

    Args:
        path: Of the study.

    Yields:
        Nothing.

    Raises:
        FedkinError: A value is of another kind than fedkin writes there.
    """
    try:
        yield
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        raise FedkinError(
            f"{path} cannot be used: it holds what fedkin did not write ({named_line(error)})"
        ) from None


def _cause(error: BaseException) -> BaseException:
    """SQLite's own error: Optuna's says only that there was one."""
    while error.__cause__ is not None:
        error = error.__cause__
    return error
