"""run.db: what happened, round by round. SQLite; what one commit holds appears whole or
not at all.
"""

import json
import sqlite3
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fedkin.core.errors import FedkinError, Halted, reason
from fedkin.core.kinds import KINDS
from fedkin.runs.bounds import check_facts, json_of
from fedkin.runs.directory import (
    RECORD,
    check_own,
    not_a_run,
    noted,
    resumed_by,
    unrecorded,
)
from fedkin.runs.untrusted_database import (
    check_file,
    check_schema,
    ends,
    recovered,
    short_values,
    unfinished,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

PART = 50_000  # rows that are held as Python objects at a time
VERSION = 1  # of the run directory: a run of another version is refused, not guessed at
WRITER_WAITS = 1.0  # seconds for readers, at once: meanwhile new readers wait for it
READER_WAITS = 5.0  # seconds for the writer
# also of the folder, once the journal is removed: that is the commit, and FULL syncs files alone
DURABLE = "PRAGMA synchronous = EXTRA"

SCHEMA = f"""
CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE rounds (round INTEGER PRIMARY KEY, phase TEXT NOT NULL, participants TEXT NOT NULL,
    seconds TEXT NOT NULL);
CREATE TABLE metrics (round INTEGER, client INTEGER, view TEXT, split TEXT, loss REAL,
    accuracy REAL, PRIMARY KEY (round, client, view, split)) WITHOUT ROWID;
CREATE TABLE messages (round INTEGER, phase TEXT, client INTEGER, direction TEXT, copy INTEGER,
    bytes INTEGER, {", ".join(f"{kind} INTEGER" for kind in KINDS)});
CREATE TABLE notes (round INTEGER, client INTEGER, name TEXT, value TEXT,
    PRIMARY KEY (round, client, name)) WITHOUT ROWID;
CREATE TABLE clients (client INTEGER PRIMARY KEY, name TEXT, architecture TEXT, train INTEGER,
    val INTEGER, test INTEGER, histogram TEXT);
CREATE TABLE events (round INTEGER, client INTEGER, kind TEXT, text TEXT);
CREATE TABLE states (client INTEGER PRIMARY KEY, round INTEGER);
"""
"""``client`` -1 in states is the server; in messages, copy 0 marks the first copy of a broadcast.
``notes`` holds what a method tells (cluster, membership, teacher, …) as JSON; nan is NULL.
"""

MEASURES = """CREATE TABLE IF NOT EXISTS measures (round INTEGER, client INTEGER, view TEXT,
    split TEXT, name TEXT, value REAL,
    PRIMARY KEY (round, client, view, split, name)) WITHOUT ROWID"""
"""Apart from SCHEMA, for there are runs without it: RMSE, AUC and the like."""

MOVED = """CREATE TABLE IF NOT EXISTS moved (round INTEGER PRIMARY KEY, messages INTEGER,
    bytes INTEGER)"""
"""Apart from SCHEMA as well. What of a round's replies reached the coordinator."""

COUNTED = """CREATE TABLE IF NOT EXISTS counted (round INTEGER, view TEXT, name TEXT,
    clients INTEGER, without INTEGER, PRIMARY KEY (round, view, name)) WITHOUT ROWID"""
"""Apart from SCHEMA as well. Under masks, of each test score how many clients its mean is of, and
how many others have test samples.
"""


class Database:
    """A run's records. Opened for writing by its run, read-only by everyone else.

    Args:
        path: Of run.db, for messages.
        connection: To it, or to a mended copy.
        aside: The folder of that copy, which is removed at the end; None: there is none.
    """

    def __init__(
        self,
        path: Path,
        connection: sqlite3.Connection,
        aside: "tempfile.TemporaryDirectory[str] | None" = None,
    ) -> None:
        self.path = path
        self._connection, self._aside = connection, aside

    def facts(self) -> dict[str, Any]:
        """name → value of everything that is true of the run as a whole.

        Returns:
            Plain values, in bounds.

        Raises:
            FedkinError: The record is damaged.
        """
        try:
            by_name = {
                name: json.loads(value)
                for name, value in self.rows("SELECT name, value FROM facts")
            }
        except (RecursionError, TypeError, ValueError) as error:
            raise FedkinError(f"{self.path} is damaged: {error}") from None
        check_facts(by_name, str(self.path))
        return by_name

    def rows(self, query: str, *values: Any) -> list[tuple[Any, ...]]:
        """The rows of a query.

        Args:
            query: SQL that reads.
            *values: What its question marks stand for.

        Returns:
            All rows, as tuples of Python values; NULL is None.

        Raises:
            FedkinError: The record is damaged; one whose tables have no end is, too.
        """
        with self._asked(query, values) as (cursor, most):
            fetched = cursor.fetchmany(most + 1)
        if len(fetched) > most:
            raise self._endless()
        return fetched

    def columns(self, query: str, *values: Any) -> "NDArray[np.float64]":
        """The rows of a query for numbers alone, as an array [rows, columns]; NULL becomes nan.

        A tenth of the memory of ``rows``: they become numbers a part at a time.

        Args:
            query: SQL that reads numbers alone.
            *values: What its question marks stand for.

        Returns:
            float64 [rows, columns].

        Raises:
            FedkinError: As ``rows`` does.
        """
        import numpy as np

        with self._asked(query, values) as (cursor, most):
            parts = []
            while rows := cursor.fetchmany(PART):
                parts.append(np.array(rows, dtype=np.float64))
                most -= len(rows)
                if most < 0:
                    raise self._endless()
        return np.concatenate(parts) if parts else np.empty((0, len(cursor.description)))

    @contextmanager
    def _asked(self, query: str, values: Sequence[Any]) -> Iterator[tuple[sqlite3.Cursor, int]]:
        """A query's cursor, to be read within the block, and how many rows it may have."""
        try:
            with ends(self._connection, self.path) as most:
                yield self._connection.execute(query, values), most
        except (sqlite3.DatabaseError, OverflowError, OSError, UnicodeDecodeError) as error:
            if getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_INTERRUPT:
                raise self._endless() from None
            raise _held(self.path, error) or FedkinError(
                f"{self.path} is damaged: {error}"
            ) from None

    def _endless(self) -> FedkinError:
        return FedkinError(f"{self.path} is damaged: its tables have no end")

    @contextmanager
    def reading(self) -> Iterator[None]:
        """What is read in the block is of one commit.

        Yields:
            Nothing.

        Raises:
            FedkinError: The record is damaged.
        """
        self.rows("BEGIN")
        try:
            yield
        finally:
            self._connection.rollback()

    @contextmanager
    def commit(self) -> Iterator[sqlite3.Connection]:
        """A transaction that is on disk when the block ends, or has left no trace.

        Yields:
            The connection, within a transaction.
        """
        with self._connection as open_transaction:
            open_transaction.execute("BEGIN IMMEDIATE")
            yield open_transaction

    def last_round(self) -> int:
        """The last committed round, -1 if there is none.

        Returns:
            From 0, the setup; the finish counts as one.
        """
        return int(self.rows("SELECT coalesce(max(round), -1) FROM rounds")[0][0])

    def last_trained(self) -> int:
        """The last committed round of training, 0 if there is none: setup and finish are none.

        Returns:
            A round, counted from 1; 0 where none is committed.
        """
        query = "SELECT coalesce(max(round), 0) FROM rounds WHERE phase = 'round'"
        return int(self.rows(query)[0][0])

    def close(self) -> None:
        """Close the connection; a mended copy is removed."""
        self._connection.close()
        if self._aside is not None:
            self._aside.cleanup()


def create(path: Path, facts: dict[str, Any], clients: Iterable[tuple[Any, ...]] = ()) -> Database:
    """A new run.db: there as a whole or not at all.

    Args:
        path: Where it will be, in a folder that is there.
        facts: What is true of the run as a whole, as plain values.
        clients: A row a client: number, name, architecture, samples in train, val and test,
            histogram.

    Returns:
        The record, opened for writing.

    Raises:
        Halted: It cannot be written.
    """
    part = path.with_name(path.name + ".part")
    try:
        part.unlink(missing_ok=True)
        with closing(sqlite3.connect(part, isolation_level=None)) as connection:
            connection.execute("PRAGMA journal_mode = DELETE")
            connection.execute(DURABLE)
            with Database(part, connection).commit() as transaction:
                for statement in SCHEMA.split(";"):  # executescript would commit
                    transaction.execute(statement)
                put_facts(transaction, {"version": VERSION, **facts})
                put_rows(transaction, "clients", clients)
        part.replace(path)
    except (OSError, sqlite3.Error) as error:
        raise Halted(f"{path} cannot be written: {reason(error)}") from None
    return open_run(path.parent, write=True)


def open_run(folder: Path, write: bool = False, busy: float | None = None) -> Database:
    """The run.db of a run directory.

    Args:
        folder: The run directory.
        write: Whether it is opened for writing, as its run does.
        busy: Seconds that its writer waits for readers, before it is ``locked``, or a reader for
            its writer; None: WRITER_WAITS or READER_WAITS.

    Returns:
        The record.

    Raises:
        FedkinError: The run is missing, damaged, or of another version; or the folder is not as
            fedkin leaves one.
    """
    path = folder / RECORD
    if busy is None:
        busy = WRITER_WAITS if write else READER_WAITS
    check_own(folder)
    if not path.is_file():
        raise not_a_run(folder)
    try:
        check_file(path)
        database, version = _connect(path, path, write, busy)
    except (OSError, OverflowError, RecursionError, TypeError, sqlite3.Error, ValueError) as error:
        raise _held(path, error) or FedkinError(
            f"{path} is not a readable run record: {error}"
        ) from None
    if version != VERSION:
        database.close()
        its = str(version)[:20]
        raise FedkinError(
            f"{folder} was written in version {its} of the run format, this fedkin reads {VERSION}"
        )
    return database


def _connect(
    path: Path,
    file: Path,
    write: bool,
    busy: float,
    aside: "tempfile.TemporaryDirectory[str] | None" = None,
) -> tuple[Database, Any]:
    """The record of ``path`` out of ``file``, which is itself or a copy, and its version."""
    address = f"{file.absolute().as_uri()}?mode={'rw' if write else 'ro'}"
    connection = sqlite3.connect(address, uri=True, isolation_level=None, timeout=busy)
    try:
        if write:
            connection.execute(DURABLE)
        else:
            short_values(connection)
        with ends(connection, file):
            check_schema(connection)
            ((version,),) = connection.execute(
                "SELECT value FROM facts WHERE name = 'version'"
            ).fetchmany(2)
        return Database(path, connection, aside), json.loads(version)
    except Exception as error:
        connection.close()
        if aside is not None:
            aside.cleanup()
        if write or aside or not unfinished(error):
            raise
    copy = recovered(path)
    return _connect(path, Path(copy.name) / path.name, False, busy, copy)


def locked(error: Exception) -> bool:
    """Whether somebody else holds the database just now, so that the same may be tried again.

    Args:
        error: What SQLite raised.

    Returns:
        True while another connection reads or writes.
    """
    return getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_BUSY


def _held(path: Path, error: Exception) -> FedkinError | None:
    """What is said of a record that is well, and was not let go for longer than one waits."""
    return FedkinError(f"{path} is held by another program: try again") if locked(error) else None


def put_facts(transaction: sqlite3.Connection, facts: dict[str, Any]) -> None:
    """Add or replace facts.

    Args:
        transaction: Of ``Database.commit``.
        facts: {name: plain value}.
    """
    rows = [(name, json_of(value)) for name, value in facts.items()]
    transaction.executemany("INSERT OR REPLACE INTO facts VALUES (?, ?)", rows)


def put_rows(transaction: sqlite3.Connection, table: str, rows: Iterable[tuple[Any, ...]]) -> None:
    """Insert rows into a table of SCHEMA.

    Args:
        transaction: Of ``Database.commit``.
        table: A name of SCHEMA, or of a table that was made later.
        rows: All of the same length, in the order of its columns.
    """
    rows = list(rows)
    if rows:
        marks = ", ".join("?" * len(rows[0]))
        transaction.executemany(f"INSERT INTO {table} VALUES ({marks})", rows)


def read_only(folder: Path, busy: float | None = None) -> "closing[Database]":
    """``with read_only(folder) as database:`` closes it again.

    Args:
        folder: The run directory.
        busy: Seconds that it waits for the run's writer; None: READER_WAITS.

    Returns:
        The record, as a context.

    Raises:
        FedkinError: The run is missing, damaged, or of another version.
    """
    return closing(open_run(folder, busy=busy))


def continued_by(folder: Path) -> str:
    """What continues the run that began in a folder (``resumed_by``), by its record, or where that
    cannot be read by its experiment.toml.

    Args:
        folder: The run directory.

    Returns:
        A command, or a call of Python.
    """
    facts = noted(folder)
    with suppress(FedkinError), read_only(folder) as database:
        facts = database.facts()
    return resumed_by(str(folder), facts)


def before_resume(folder: Path) -> tuple[int, int] | None:
    """Rounds done and bytes sent before a resume.

    Args:
        folder: The run directory.

    Returns:
        (rounds, bytes); None of a finished run.

    Raises:
        FedkinError: It is no run, or a damaged one.
    """
    if unrecorded(folder):
        check_own(folder)
        return 0, 0
    with read_only(folder) as database:
        if database.facts().get("finished"):
            return None
        ((sent,),) = database.rows("SELECT coalesce(sum(bytes), 0) FROM messages")
        return database.last_round(), int(sent)
