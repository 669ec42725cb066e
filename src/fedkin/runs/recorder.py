"""From what happened in a round to the rows of run.db, committed together with the checkpoint."""

import json
import math
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fedkin.core.errors import FedkinError
from fedkin.core.method import KINDS
from fedkin.runs import checkpoint
from fedkin.runs.database import MEASURES, Database, put_facts, put_rows
from fedkin.runs.record import Record


class Recorder:
    """Keeps finished rounds until they are committed.

    ``save(folder, round) → clients`` writes the states that changed. Commits happen at most every ``every`` seconds and
    at the end: what is between two commits is one transaction, and is done again after a crash, with the same result.
    """

    def __init__(self, run: Path, database: Database, save: Callable[[Path, int], list[int]], every: float) -> None:
        self.run, self.database, self.save, self.every = run, database, save, every
        self.waiting: list[Record] = []
        self._last = time.monotonic()
        try:
            checkpoint.folder_of(run).mkdir(exist_ok=True)
        except OSError as error:
            raise FedkinError(f"{run} cannot be written: {error}") from None

    def add(self, record: Record) -> None:
        """A round happened; commit if the last commit is long enough ago."""
        self.waiting.append(record)
        if time.monotonic() - self._last >= self.every:
            self.commit()

    def commit(self, **facts: Any) -> None:
        """States to disk, then one transaction with all waiting rounds, then the old files away."""
        if not self.waiting and not facts:
            return
        try:
            self._commit(facts)
        except (OSError, sqlite3.Error) as error:
            last = self.database.last_round()
            raise FedkinError(f"{self.run} cannot be written: {error}. Committed up to round {last}") from None
        self._last = time.monotonic()

    def _commit(self, facts: dict[str, Any]) -> None:
        changed: list[int] = []
        if self.waiting:
            at = self.waiting[-1].round
            folder = checkpoint.folder_of(self.run)
            changed = self.save(folder, at)
            checkpoint.sync(folder)
        with self.database.commit() as transaction:
            for record in self.waiting:
                _insert(transaction, record)
            put_facts(transaction, facts)
            if self.waiting:
                rows = [(client, at) for client in changed]
                transaction.executemany("INSERT OR REPLACE INTO states VALUES (?, ?)", rows)
        self.waiting.clear()
        checkpoint.tidy(self.run, checkpoint.committed(self.run, self.database))


def _insert(transaction: sqlite3.Connection, record: Record) -> None:
    where = (record.round, record.phase)
    put_rows(transaction, "rounds", [(*where, json.dumps(record.participants), json.dumps(record.seconds))])
    put_rows(
        transaction,
        "messages",
        [
            (*where, sent.client, sent.direction, sent.copy, sent.bytes, *(sent.scalars[kind] for kind in KINDS))
            for sent in record.sent
        ],
    )
    put_rows(
        transaction,
        "metrics",
        [
            (record.round, client, view, split, _null(loss), _null(accuracy))
            for client, views in record.scores.items()
            for view, splits in views.items()
            for split, (loss, accuracy) in splits.items()
        ],
    )
    put_rows(transaction, "notes", _notes(record))
    transaction.execute(MEASURES)
    put_rows(
        transaction,
        "measures",
        [
            (record.round, client, view, split, name, _null(value))
            for client, views in record.measures.items()
            for view, splits in views.items()
            for split, values in splits.items()
            for name, value in values.items()
        ],
    )
    put_rows(transaction, "events", [(record.round, k, "missing", why) for k, why in sorted(record.missing.items())])


def _notes(record: Record) -> list[tuple[int, int, str, str]]:
    told = {(client, name): value for client, notes in record.notes.items() for name, value in notes.items()}
    told |= {(client, name): value for name, by in record.lens.items() for client, value in by.items()}
    return [(record.round, client, name, json.dumps(value)) for (client, name), value in sorted(told.items())]


def _null(value: float) -> float | None:
    return value if math.isfinite(value) else None
