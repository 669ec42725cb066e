"""One number of every client in every evaluated round, as an array."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedkin.report.records import Run


@dataclass(frozen=True)
class Matrix:
    """``values`` [rounds, clients], nan where nothing was measured."""

    rounds: list[int]
    clients: list[int]
    values: NDArray[np.float64]

    def row(self, at: int) -> dict[int, float]:
        """{client: value} of the round with that index, those that have one."""
        return {k: float(v) for k, v in zip(self.clients, self.values[at], strict=True) if np.isfinite(v)}

    def bands(self) -> list[tuple[int, float, float, float]]:
        """(round, mean of the lowest ⌊n / 10⌋ clients (at least one), mean, mean of the highest) for every round."""
        found = []
        for at, values in zip(self.rounds, self.values, strict=True):
            known = np.sort(values[np.isfinite(values)])
            if len(known):
                tenth = max(1, len(known) // 10)
                found.append((at, float(known[:tenth].mean()), float(known.mean()), float(known[-tenth:].mean())))
        return found


def measured(run: Run, found: Mapping[str, Any]) -> tuple[str, dict[str, Matrix]]:
    """("accuracy" or, where there is none, "loss"; {view: its Matrix on test}); empty if nothing was evaluated.

    ``found``: the run's ``summary``.
    """
    column = "accuracy" if found["accuracy"] else "loss"
    matrices = {view: _test(run, view, column) for view in found["loss"]}
    return column, {view: m for view, m in matrices.items() if np.isfinite(m.values).any()}


def told(run: Run, name: str) -> Matrix | None:
    """A note that is one number, client by client; None if it is something else, or only of the federation."""
    query = "SELECT round, client, value FROM notes WHERE name = ? AND client >= 0"
    rows = run.rows(query, name)
    values = run.read_all([text for _, _, text in rows])
    if not values or not all(type(value) in (int, float) for value in values):
        return None
    return _matrix([(at, client, value) for (at, client, _), value in zip(rows, values, strict=True)])


def _test(run: Run, view: str, column: str) -> Matrix:
    return _matrix(run.rows(f"SELECT round, client, {column} FROM metrics WHERE view = ? AND split = 'test'", view))


def _matrix(rows: list[tuple[Any, ...]]) -> Matrix:
    rounds, clients = sorted({row[0] for row in rows}), sorted({row[1] for row in rows})
    values = np.full((len(rounds), len(clients)), np.nan)
    if rows:
        down, across = {r: i for i, r in enumerate(rounds)}, {c: i for i, c in enumerate(clients)}
        values[[down[r[0]] for r in rows], [across[r[1]] for r in rows]] = [
            np.nan if r[2] is None else r[2] for r in rows
        ]
    return Matrix(rounds, clients, values)
