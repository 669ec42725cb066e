"""From what happened in a round to the rows of run.db, committed together with the checkpoint."""

import json
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from fedkin.core.errors import Halted, reason
from fedkin.core.files import sync_folder
from fedkin.core.kinds import KINDS
from fedkin.runs import bounds, checkpoint
from fedkin.runs.database import COUNTED, MEASURES, MOVED, Database, locked, put_facts, put_rows
from fedkin.runs.directory import check_own, resumed_by, states_of
from fedkin.runs.record import Record

PATIENCE = 600.0  # seconds for which the end of a run waits for whoever reads run.db
PAUSE = 0.2  # seconds between two tries, in which others read


class Saved(NamedTuple):
    """Rounds whose states are on disk, up to ``round``: what the next transaction holds."""

    round: int
    records: list[Record]
    changed: list[int]


class Recorder:
    """Keeps finished rounds until they are committed.

    Commits happen at most every ``every`` seconds and at the end. What is between two commits is
    one transaction, and is done again after a crash, with the same result. Where somebody reads
    run.db for long, rounds wait for a later commit.

    Args:
        run: The run's folder.
        database: Its record, opened for writing.
        save: (folder, round) → the clients whose states changed and are written there.
        every: Seconds between two commits, at least.
        patience: Seconds that the last commit waits for whoever reads run.db.

    Raises:
        Halted: The folder cannot be written.
    """

    def __init__(
        self,
        run: Path,
        database: Database,
        save: Callable[[Path, int], list[int]],
        every: float,
        patience: float = PATIENCE,
    ) -> None:
        self.run, self.database, self.save = run, database, save
        self.every, self.patience = every, patience
        # read now: whoever holds run.db later may let nobody read it
        self._again = resumed_by(str(run), database.facts())
        self.waiting: list[Record] = []
        # not saved anew while it waits: nodes keep the states of two savings
        self._saved: Saved | None = None
        self._last = time.monotonic()
        self._files = checkpoint.named(run, database)  # of the last commit
        check_own(run)
        try:
            states_of(run).mkdir(exist_ok=True)
        except OSError as error:
            raise Halted(f"{run} cannot be written: {reason(error)}") from None

    @property
    def due(self) -> bool:
        """Whether the last commit is so long ago that the next one may be made."""
        return time.monotonic() - self._last >= self.every

    def add(self, record: Record) -> None:
        """A round happened; commit if the last commit is long enough ago, and nobody is
        in the way.

        Args:
            record: What happened in the round.

        Raises:
            Halted: The folder cannot be written.
        """
        self.waiting.append(record)
        if self.due:
            self._try({})

    def commit(self, **facts: Any) -> None:
        """States to disk, then one transaction with all waiting rounds, then the old files away.

        Args:
            **facts: Facts of the run that are added or replaced in the same transaction.

        Raises:
            Halted: The folder cannot be written, or another program holds run.db for longer than
                ``patience``.
        """
        end = time.monotonic() + self.patience
        while (self.waiting or self._saved or facts) and not self._try(facts):
            if time.monotonic() > end:
                raise Halted(
                    f"{self.run} cannot be written: another program holds its run.db. "
                    f"{_committed(self.database)}: "
                    f"close that program, then go on with: {self._again}"
                )
            time.sleep(PAUSE)

    def _try(self, facts: dict[str, Any]) -> bool:
        """Commit; False where somebody reads the database: nothing is lost, and it can be tried
        again.
        """
        try:
            if self._saved is not None:  # an earlier try's
                self._commit(self._saved, {})
            if self.waiting or facts:
                self._commit(self._save(), facts)
        except (OSError, sqlite3.Error) as error:
            if not locked(error):
                raise Halted(
                    f"{self.run} cannot be written: {reason(error)}. {_committed(self.database)}"
                ) from None
            return False
        finally:
            self._last = time.monotonic()
        return True

    def _save(self) -> Saved:
        if not self.waiting:
            return Saved(-1, [], [])
        at, folder = self.waiting[-1].round, states_of(self.run)
        changed = self.save(folder, at)
        sync_folder(folder)
        self._saved = Saved(at, self.waiting, changed)
        self.waiting = []
        return self._saved

    def _commit(self, saved: Saved, facts: dict[str, Any]) -> None:
        with self.database.commit() as transaction:
            for record in saved.records:
                _insert(transaction, record)
            put_facts(transaction, facts)
            rows = [(client, saved.round) for client in saved.changed]
            transaction.executemany("INSERT OR REPLACE INTO states VALUES (?, ?)", rows)
        self._saved = None
        check_own(self.run)  # a folder that is a link leads to somebody else's files
        for client in saved.changed:
            before = self._files.get(client)
            self._files[client] = now = states_of(self.run) / checkpoint.name(client, saved.round)
            if before is not None and before != now:
                before.unlink(missing_ok=True)


def _committed(database: Database) -> str:
    """How far a run came, in words."""
    last = database.last_round()
    return "Nothing is committed yet" if last < 0 else f"Committed up to round {last}"


def _insert(transaction: sqlite3.Connection, record: Record) -> None:
    """All rows of a record. Tables that older runs lack are made where they are missing."""
    participants, seconds = json.dumps(record.participants), json.dumps(record.seconds)
    put_rows(transaction, "rounds", [(record.round, record.phase, participants, seconds)])
    put_rows(transaction, "messages", _messages(record))
    put_rows(transaction, "metrics", _metrics(record))
    put_rows(transaction, "notes", _notes(record))
    transaction.execute(MEASURES)
    put_rows(transaction, "measures", _measures(record))
    transaction.execute(MOVED)
    put_rows(transaction, "moved", [(record.round, *record.moved)])
    transaction.execute(COUNTED)
    put_rows(transaction, "counted", _counted(record))
    put_rows(transaction, "events", _missing(record))


def _messages(record: Record) -> list[tuple[Any, ...]]:
    rows = []
    for sent in record.sent:
        what = (sent.client, sent.direction, sent.copy, sent.bytes)
        scalars = (sent.scalars[kind] for kind in KINDS)
        rows.append((record.round, record.phase, *what, *scalars))
    return rows


def _metrics(record: Record) -> list[tuple[Any, ...]]:
    return [
        (record.round, client, view, split, bounds.loss(loss), bounds.accuracy(accuracy))
        for client, views in record.scores.items()
        for view, splits in views.items()
        for split, (loss, accuracy) in splits.items()
    ]


def _measures(record: Record) -> list[tuple[Any, ...]]:
    return [
        (record.round, client, view, split, name, bounds.loss(value))
        for client, views in record.measures.items()
        for view, splits in views.items()
        for split, values in splits.items()
        for name, value in values.items()
    ]


def _counted(record: Record) -> list[tuple[Any, ...]]:
    return [
        (record.round, view, name, *counts)
        for view, by_name in record.counted.items()
        for name, counts in by_name.items()
    ]


def _missing(record: Record) -> list[tuple[Any, ...]]:
    return [
        (record.round, k, "missing", bounds.sentence(why))
        for k, why in sorted(record.missing.items())
    ]


def _notes(record: Record) -> list[tuple[int, int, str, str]]:
    rows = {
        (client, name): value
        for client, notes in record.notes.items()
        for name, value in notes.items()
    }
    rows |= {
        (client, name): value
        for name, by in record.server_metrics.items()
        for client, value in by.items()
    }
    return [
        (record.round, client, name, bounds.note(value))
        for (client, name), value in sorted(rows.items())
    ]
