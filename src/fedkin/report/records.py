"""A run's records, opened for reading: facts, clients and seconds in plain Python. Only run.db is
read.
"""

import json
import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fedkin.core.errors import FedkinError
from fedkin.core.escaping import HIDDEN, plain, plain_values
from fedkin.runs.bounds import LETTERS, are_counts, are_numbers, check_rows
from fedkin.runs.database import Database, read_only
from fedkin.runs.record import FEDERATION

NARROWED = ("metrics", "measures", "notes")  # tables by client that charts read


class Client(NamedTuple):
    """One row of ``clients``.

    ``histogram``: training samples by class, empty where it is not known.
    """

    number: int
    name: str
    architecture: str
    train: int
    val: int
    test: int
    histogram: list[int]


@dataclass(frozen=True)
class Run:
    """An open run. ``clients`` in the order of their numbers; names are unique."""

    folder: Path
    database: Database
    facts: dict[str, Any]
    clients: dict[int, Client]
    only: tuple[int, ...] | None = None  # clients whose rows are read, and the federation's
    kept: dict[Any, Any] = field(default_factory=dict, repr=False)  # what was read once

    def rows(self, query: str, *values: Any) -> list[tuple[Any, ...]]:
        """The rows of a query, of the chosen clients alone.

        Args:
            query: SQL that reads.
            *values: What its question marks stand for.

        Returns:
            All rows, as tuples of Python values; NULL is None.
        """
        return self.database.rows(self._narrowed(query), *values)

    def columns(self, query: str, *values: Any) -> NDArray[np.float64]:
        """Numbers [rows, columns]; nan for NULL.

        Args:
            query: SQL that reads numbers alone.
            *values: What its question marks stand for.

        Returns:
            float64 [rows, columns].
        """
        return self.database.columns(self._narrowed(query), *values)

    def narrowed(self, clients: Sequence[int]) -> "Run":
        """The same run, as if it had these clients alone.

        Args:
            clients: Their numbers; unknown ones are left out.

        Returns:
            A run that shares the database.
        """
        kept = {k: self.clients[k] for k in clients if k in self.clients}
        return replace(self, clients=kept, only=tuple(kept), kept={})

    def _narrowed(self, query: str) -> str:
        if self.only is None:
            return query
        among = ", ".join(map(str, (FEDERATION, *self.only)))
        parts = [f"{t} AS (SELECT * FROM main.{t} WHERE client IN ({among}))" for t in NARROWED]
        return f"WITH {', '.join(parts)} {query}"

    def name(self, client: int) -> str:
        """What people call a client; -1 is the federation.

        Args:
            client: Its number, or -1.

        Returns:
            The name, which is unique; the number as text where it is not known.
        """
        if client in self.clients:
            return self.clients[client].name
        return "federation" if client == FEDERATION else str(client)

    def fact(self, name: str) -> Any:
        """A fact that every run writes.

        Args:
            name: Of the fact.

        Returns:
            A plain value.

        Raises:
            FedkinError: The record has none: it is damaged.
        """
        if name not in self.facts:
            raise FedkinError(f"{self.database.path} is damaged: it does not have the fact {name}")
        return self.facts[name]

    @property
    def finished(self) -> bool:
        """Whether the run came to its end."""
        return self.facts.get("finished") is True

    def planned(self) -> int | None:
        """The number of rounds the run was asked for.

        Returns:
            Rounds of training; None where the record does not say.
        """
        rounds = self.facts.get("rounds")
        return rounds if isinstance(rounds, int) else None

    def ended(self) -> int | None:
        """The round after which the finish comes: the planned one, or that after which training
        ended early.

        Returns:
            From 1; None where the record does not say.
        """
        if not self.finished:
            return self.planned()
        return self.database.last_trained() or self.planned()

    def last_scored(self, until: int | None = None) -> int:
        """The last round that has scores, ``until`` at most; 0 where none has.

        Args:
            until: A round; None: the last committed one.

        Returns:
            A round, counted from 1; 0 where none has scores, or setup alone has.
        """
        most = self.database.last_round() if until is None else until
        query = "SELECT coalesce(max(round), 0) FROM metrics WHERE round <= ?"
        return int(self.rows(query, most)[0][0])

    def evaluated(self) -> str:
        """Whom rounds before the last evaluated: all, panel:N or participants.

        Returns:
            As [run] evaluate has it.
        """
        of_run = (self.facts.get("spec") or {}).get("run") or {}
        return str(of_run.get("evaluate", "all"))

    def panel_round(self) -> int | None:
        """The first round that the panel was asked in; None where there is no panel.

        Returns:
            A round, counted from 1; setup is 0.
        """
        if not self.evaluated().startswith("panel:"):
            return None
        ((first,),) = self.rows("SELECT min(round) FROM metrics")
        return first if isinstance(first, int) else None

    def panel(self) -> frozenset[int] | None:
        """The clients of the panel; None where there is none.

        Returns:
            Numbers of clients.
        """
        first = self.panel_round()
        if first is None:
            return None
        clients = self.rows("SELECT DISTINCT client FROM metrics WHERE round = ?", first)
        return frozenset(client for (client,) in clients)

    def committed(self) -> int:
        """How many rounds are in the record (setup and finish not counted).

        Returns:
            A count of committed rounds, 0 before the first.
        """
        return int(self.rows("SELECT count(*) FROM rounds WHERE phase = 'round'")[0][0])

    def seconds(self) -> list[tuple[str, dict[str, float]]]:
        """(phase, {part: seconds}) of every row of ``rounds``, in order.

        Returns:
            Parts are "local", "server", "evaluation" and "total".
        """
        return [
            (phase, self.read(text, are_numbers))
            for phase, text in self.rows("SELECT phase, seconds FROM rounds ORDER BY round")
        ]

    def read(self, text: str, fits: Callable[[Any], bool] | None = None) -> Any:
        """A JSON value of the record, in which no string commands a terminal.

        Args:
            text: As the database has it.
            fits: Whether a value is of the kind that a run writes there; None: any is.

        Returns:
            Plain values.

        Raises:
            FedkinError: The text is no JSON, or does not fit: the record is damaged.
        """
        value = _plainly(text, self.database.path)
        if fits is not None and not fits(value):
            raise FedkinError(f"{self.database.path} is damaged: no run writes {text[:80]} there")
        return value

    def read_all(self, texts: Sequence[str]) -> list[Any]:
        """``read`` of many, at once: a large run has a million notes.

        Args:
            texts: As the database has them.

        Returns:
            A value each, in their order.

        Raises:
            FedkinError: One is no JSON: the record is damaged.
        """
        values = _read_all(texts, self.database.path)
        hidden = HIDDEN.search(",".join(texts))
        return [plain_values(value) for value in values] if hidden else values


@contextmanager
def opened(folder: Path) -> Iterator[Run]:
    """``with opened(folder) as run:``.

    Args:
        folder: The run directory.

    Yields:
        The run.

    Raises:
        FedkinError: The folder is no run, or a damaged one. What the block raises stays as it is.
    """
    folder = Path(folder)
    with read_only(folder) as database:
        check_rows(database.rows, str(database.path))
        yield Run(folder, database, plain_values(database.facts()), _clients(database))


def number(value: float | None) -> float | None:
    """A number that JSON can hold: None for nan and infinity.

    Args:
        value: Any number; None stays None.

    Returns:
        A float that is finite, or None.
    """
    return None if value is None or not math.isfinite(value) else float(value)


def evenly(items: Sequence[Any], most: int) -> list[Any]:
    """At most ``most`` items, evenly spaced, the first and the last among them.

    Args:
        items: In order.
        most: At least 2.

    Returns:
        In their order; all of them where they are no more than ``most``.
    """
    if len(items) <= most:
        return list(items)
    return [items[round(k * (len(items) - 1) / (most - 1))] for k in range(most)]


def _clients(database: Database) -> dict[int, Client]:
    query = (
        "SELECT client, name, architecture, train, val, test, histogram FROM clients "
        "ORDER BY client"
    )
    rows = database.rows(query)
    counts = _read_all([row[-1] or "[]" for row in rows], database.path)
    for row, histogram in zip(rows, counts, strict=True):
        if not are_counts(histogram):
            raise FedkinError(
                f"{database.path} is damaged: client {row[0]} has the histogram {row[-1][:80]}"
            )
    clients = [
        Client(
            k,
            str(k) if name is None else plain(str(name))[:LETTERS],
            kind or "",
            train or 0,
            val or 0,
            test or 0,
            histogram,
        )
        for (k, name, kind, train, val, test, _), histogram in zip(rows, counts, strict=True)
    ]
    seen = Counter(client.name for client in clients)
    unique = [
        c if seen[c.name] == 1 else c._replace(name=f"{c.name} ({c.number})") for c in clients
    ]
    return {client.number: client for client in unique}


def _plainly(text: str, path: Path) -> Any:
    """A value in which no string commands the terminal that it may be shown on."""
    value = _read(text, path)
    return plain_values(value) if isinstance(text, str) and HIDDEN.search(text) else value


def _read_all(texts: Sequence[str], path: Path) -> list[Any]:
    """``_read`` of many: at once, unless they are not as many values."""
    try:
        values = json.loads(f"[{','.join(texts)}]")
    except (RecursionError, TypeError, ValueError):
        values = []
    return values if len(values) == len(texts) else [_read(text, path) for text in texts]


def _read(text: str, path: Path) -> Any:
    try:
        return json.loads(text)
    except (RecursionError, TypeError, ValueError) as error:
        raise FedkinError(f"{path} is damaged: {error}") from None
