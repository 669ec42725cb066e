"""run.db as a file that anybody may have written: what is asked of it before SQLite is, and while
it answers.

SQLite follows what a database says of itself. A rollback journal may name another one, which is
then deleted; a view may never end; a page may be its own child. Reading never opens for writing,
and every answer has an end.
"""

import os
import re
import shutil
import sqlite3
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from fedkin.core.errors import FedkinError, Halted, reason

HEADER = b"SQLite format 3\0"
# of the header: 1, 1 for a rollback journal; 2 for a write-ahead log, which readers write to
FORMATS = slice(18, 20)
# the last bytes of a journal that names a super-journal
NAMES_ANOTHER = bytes.fromhex("d9d505f920a163d7")
PLAIN_TABLE = re.compile(r"CREATE TABLE (?:IF NOT EXISTS )?\w+ ?\([\w\s,()]*\)(?: WITHOUT ROWID)?")
FORBIDDEN = re.compile(r"\b(AS|CHECK|COLLATE|DEFAULT|GENERATED|REFERENCES|SELECT)\b", re.IGNORECASE)
TABLES = 50
MASTER = "SELECT type, name, sql FROM sqlite_master"
LONGEST = 64 << 20  # bytes of one value: the participants of a round of a million clients are 8 MB
STEPS = 100_000  # of SQLite's machine between two looks at how many there were
SPENT = 200  # looks without regard to the file's size
A_BYTE = 50  # steps for one byte of the file: no honest row is so short, or so dear
ROW = 8  # bytes of the shortest row with three columns
TRIES = 20  # for a record that is written while it is copied


def check_file(path: Path, what: str = "run record") -> None:
    """Refuse a record that SQLite would write to, or delete other files for, when it is only
    opened.

    Args:
        path: Of the database.
        what: It should be, for the sentence.

    Raises:
        FedkinError: it is no database, needs a write-ahead log, or its journal names another one.
    """
    with open(path, "rb") as file:
        head = file.read(100)
    if head and not head.startswith(HEADER):
        raise FedkinError(f"{path} is not a readable {what}: file is not a database")
    if len(head) > FORMATS.stop and head[FORMATS] != b"\1\1":
        raise FedkinError(
            f"{path} is not a readable {what}: it has a write-ahead log, which fedkin never writes"
        )
    journal = journal_of(path)
    try:
        with open(journal, "rb") as file:
            file.seek(-len(NAMES_ANOTHER), os.SEEK_END)
            last = file.read()
    except OSError:  # none, or one that is too short to say anything
        return
    if last == NAMES_ANOTHER:
        raise FedkinError(
            f"{journal} names another journal, which fedkin never writes: this {what} is not its "
            "own"
        )


def journal_of(path: Path) -> Path:
    """Where SQLite keeps what it would undo.

    Args:
        path: Of the database.

    Returns:
        The path of its journal, which need not be there.
    """
    return path.with_name(f"{path.name}-journal")


def check_schema(connection: sqlite3.Connection) -> None:
    """Refuse tables that compute: views, triggers, virtual tables, columns that are made of others.

    Args:
        connection: To a database of anybody's; it is told to trust no schema.

    Raises:
        ValueError: something is no plain table.
    """
    connection.execute("PRAGMA trusted_schema = OFF")
    connection.execute("PRAGMA cell_size_check = ON")
    entries = connection.execute(MASTER).fetchmany(TABLES + 1)
    if len(entries) > TABLES:
        raise ValueError("it has too many tables")
    for kind, name, text in entries:
        of_sqlite = kind == "index" and text is None and str(name).startswith("sqlite_autoindex_")
        table = kind == "table" and PLAIN_TABLE.fullmatch(str(text))
        plain = table and not FORBIDDEN.search(str(text))
        if not (of_sqlite or plain):
            raise ValueError(f"{str(kind)[:20]} {str(name)[:40]!r} is no plain table")


def tables_of(path: Path) -> set[tuple[str, str, str | None]]:
    """Kind, name and definition of everything that a database holds, which is not opened to write.
    Of one that was killed within a commit a mended copy is read.

    Args:
        path: Of the database; ``check_file`` has looked at it.

    Returns:
        (kind, name, definition) of at most 2 × TABLES entries.

    Raises:
        FedkinError: it cannot be read.
    """
    try:
        return _tables(path)
    except sqlite3.Error as error:
        if not unfinished(error):
            raise FedkinError(f"{path} cannot be used: {reason(error)}") from None
    with recovered(path) as aside:
        return _tables(Path(aside) / path.name)


def _tables(path: Path) -> set[tuple[str, str, str | None]]:
    address = f"{path.absolute().as_uri()}?mode=ro"
    with closing(sqlite3.connect(address, uri=True)) as connection:
        connection.execute("PRAGMA trusted_schema = OFF")
        return set(connection.execute(MASTER).fetchmany(2 * TABLES))


def unfinished(error: Exception) -> bool:
    """Whether a database was killed within a commit: SQLite undoes it first, and must write for
    that, which reading never does here.

    Args:
        error: What SQLite raised.

    Returns:
        True where a copy of it can be ``recovered``.
    """
    return getattr(error, "sqlite_errorcode", 0) == sqlite3.SQLITE_READONLY_ROLLBACK


def short_values(connection: sqlite3.Connection) -> None:
    """Bounds on every value of a connection that only reads.

    Args:
        connection: Which is limited: LONGEST bytes a value, no other database beside.
    """
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LONGEST)
    connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)


@contextmanager
def ends(connection: sqlite3.Connection, path: Path) -> Iterator[int]:
    """What is asked in the block is answered in steps that are in proportion to the file, or SQLite
    is interrupted.

    A table whose pages are their own children has a row for every way through them: it never ends.

    Args:
        connection: Which is asked.
        path: The database's file, by whose size the steps are counted.

    Yields:
        How many rows an answer may have.
    """
    size = path.stat().st_size
    looks = iter(range(SPENT + A_BYTE * size // STEPS))
    connection.set_progress_handler(lambda: next(looks, None) is None, STEPS)
    try:
        yield 1000 + size // ROW
    finally:
        connection.set_progress_handler(None, 0)


def recovered(path: Path) -> "tempfile.TemporaryDirectory[str]":
    """A folder with a copy of a record that was killed within a commit, which SQLite has undone
    there.

    The record itself is not changed: who resumes the run does that.

    Args:
        path: Of the record.

    Returns:
        A folder, which is removed with this object.

    Raises:
        Halted: It cannot be copied.
    """
    aside = tempfile.TemporaryDirectory(prefix="fedkin-")
    copy = Path(aside.name) / path.name
    try:
        for _ in range(TRIES):
            before = _facts(path)
            shutil.copyfile(path, copy, follow_symlinks=False)
            journal_of(copy).unlink(missing_ok=True)  # of the try before
            with suppress(FileNotFoundError):  # its run goes on, and has undone it
                shutil.copyfile(journal_of(path), journal_of(copy), follow_symlinks=False)
            if _facts(path) == before:
                break
            time.sleep(0.05)
        check_file(copy)
        connection = sqlite3.connect(copy, isolation_level=None)
        try:
            short_values(connection)
            connection.execute("SELECT count(*) FROM sqlite_master").fetchall()
        finally:
            connection.close()
    except (OSError, sqlite3.Error) as error:
        aside.cleanup()
        raise Halted(
            f"{path} was killed within a commit, and no copy of it can be mended: {error}"
        ) from None
    except BaseException:
        aside.cleanup()
        raise
    return aside


def _facts(path: Path) -> list[tuple[int, int]]:
    sizes_and_times = []
    for file in (path, journal_of(path)):
        try:
            facts = file.lstat()
            sizes_and_times.append((facts.st_size, facts.st_mtime_ns))
        except FileNotFoundError:  # its run goes on, and has undone it
            sizes_and_times.append((0, 0))
    return sizes_and_times
