"""The records of a run that another process writes, as they are committed."""

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from fedkin.core.errors import FedkinError
from fedkin.core.kinds import KINDS
from fedkin.runs.database import Database, read_only
from fedkin.runs.directory import recorded
from fedkin.runs.record import EPSILON, Record, Sent

PAUSE = 0.5


def follow(folder: Path, over: Callable[[], bool], since: int | None = None) -> Iterator[Record]:
    """Rounds committed after ``since`` (by default, after what is there now), until the run is
    over.

    Args:
        folder: The run directory, which need not be there yet.
        over: Whether the process that writes it has ended; asked twice a second.
        since: The last round that is known already; None: what is committed now.

    Yields:
        Rounds as they are committed, as ``record`` has them.

    Raises:
        FedkinError: The record of a run that is over cannot be read.
    """
    done = _last(folder) if since is None else since
    while True:
        last = over()  # asked first: what is committed until then is still read
        for record in _after(folder, done, last):
            done = record.round
            yield record
        if last:
            return
        time.sleep(PAUSE)


def _last(folder: Path) -> int:
    if not recorded(folder):
        return -1
    with read_only(folder) as database:
        return database.last_round()


def _after(folder: Path, done: int, over: bool) -> list[Record]:
    if not recorded(folder):
        return []
    try:
        with read_only(folder) as database:
            numbers = database.rows("SELECT round FROM rounds WHERE round > ? ORDER BY round", done)
            return [record(database, number) for (number,) in numbers]
    except FedkinError:
        if over:
            raise
        return []  # it is being written: the next look sees it


def record(database: Database, number: int) -> Record:
    """A committed round, without what the method notes and the ledger's sums. Of what the server's
    side tells it has epsilon alone.

    Args:
        database: The run's record.
        number: The number of a committed round; 0 is the setup.

    Returns:
        What ``follow`` yields of it.
    """
    ((phase, participants, seconds),) = database.rows(
        "SELECT phase, participants, seconds FROM rounds WHERE round = ?", number
    )
    messages = database.rows(
        f"SELECT client, direction, copy, bytes, {', '.join(KINDS)} FROM messages WHERE round = ?",
        number,
    )
    scores: dict[int, dict[str, dict[str, Any]]] = {}
    for client, view, split, loss, accuracy in database.rows(
        "SELECT client, view, split, loss, accuracy FROM metrics WHERE round = ?", number
    ):
        scores.setdefault(client, {}).setdefault(view, {})[split] = (_float(loss), _float(accuracy))
    missing = database.rows(
        "SELECT client, text FROM events WHERE round = ? AND kind = 'missing'", number
    )
    told = database.rows(
        "SELECT client, value FROM notes WHERE round = ? AND name = ?", number, EPSILON
    )
    known = ((client, json.loads(value)) for client, value in told)
    epsilon = {client: value for client, value in known if value is not None}
    return Record(
        round=number,
        phase=phase,
        participants=json.loads(participants),
        sent=[
            Sent(client, way, copy, dict(zip(KINDS, counts)), size)
            for client, way, copy, size, *counts in messages
        ],
        missing=dict(missing),
        scores=scores,
        notes={},
        server_metrics={EPSILON: epsilon} if epsilon else {},
        seconds=json.loads(seconds),
        measures=_measures(database, number),
    )


def _measures(database: Database, number: int) -> dict[int, dict[str, dict[str, dict[str, float]]]]:
    """Client → view → split → {name: value}; the table is made with the first round's."""
    if not database.rows("SELECT 1 FROM sqlite_master WHERE name = 'measures'"):
        return {}
    by_client: dict[int, dict[str, dict[str, dict[str, float]]]] = {}
    for client, view, split, name, value in database.rows(
        "SELECT client, view, split, name, value FROM measures WHERE round = ?", number
    ):
        splits = by_client.setdefault(client, {}).setdefault(view, {})
        splits.setdefault(split, {})[name] = _float(value)
    return by_client


def _float(value: float | None) -> float:
    return float("nan") if value is None else value
