"""One number of every client in every evaluated round, as an array."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import compress, count, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedkin.report.records import Run, evenly
from fedkin.report.scores import COLUMNS, tenth
from fedkin.runs.bounds import LOSS


@dataclass(frozen=True)
class Matrix:
    """``values`` [rounds, clients], nan where nothing was measured."""

    rounds: list[int]
    clients: list[int]
    values: NDArray[np.float64]

    def row(self, at: int) -> dict[int, float]:
        """{client: value} of the round with that index, those that have one.

        Args:
            at: The index of a round in ``rounds``, from 0.

        Returns:
            In the order of ``clients``.
        """
        row = self.values[at]
        known = np.isfinite(row)
        return dict(zip(compress(self.clients, known), row[known].tolist(), strict=True))

    def bands(self) -> list[tuple[int, float, float, float]]:
        """(round, mean of the lowest ⌊n / 10⌋ clients (at least one), mean, mean of the highest)
        for every round.

        Returns:
            Rounds without a value are left out.
        """
        by_round = []
        for at, values in zip(self.rounds, self.values, strict=True):
            known = np.sort(values[np.isfinite(values)])
            if len(known):
                decile = tenth(len(known))
                lowest, highest = known[:decile], known[-decile:]
                by_round.append(
                    (at, float(lowest.mean()), float(known.mean()), float(highest.mean()))
                )
        return by_round


def measured(run: Run, summary: Mapping[str, Any]) -> tuple[str, dict[str, Matrix]]:
    """(the experiment's measure, {view: its Matrix on test}); empty if nothing was evaluated.

    Args:
        run: An open run.
        summary: The run's ``summary``.

    Returns:
        (the name of the measure, {view: matrix}); accuracies are fractions 0..1.
    """
    measure = summary["measure"]
    matrices = {view: _test(run, view, measure) for view in summary["loss"]}
    return measure, {view: m for view, m in matrices.items() if np.isfinite(m.values).any()}


def in_charts(matrix: Matrix, run: Run) -> Matrix:
    """The matrix with the finish right after the last round that trained, where an axis of rounds
    has it: its number is that after the planned end.

    Args:
        matrix: Of the run.
        run: An open run.

    Returns:
        A copy with other rounds; the values stay.
    """
    last = run.ended()
    if last is None:
        return matrix
    return replace(matrix, rounds=[min(at, last + 1) for at in matrix.rounds])


def distinct(matrices: Mapping[str, Matrix]) -> dict[str, Matrix]:
    """The views without the global one where it is the personal one in every number, as
    in FedAvg.

    Args:
        matrices: {view: matrix}.

    Returns:
        {view: matrix}.
    """
    personal, shared = matrices.get("personal"), matrices.get("global")
    if personal is None or shared is None or not _equal(personal, shared):
        return dict(matrices)
    return {view: matrix for view, matrix in matrices.items() if view != "global"}


def _equal(one: Matrix, other: Matrix) -> bool:
    if (one.rounds, one.clients) != (other.rounds, other.clients):
        return False
    return np.allclose(one.values, other.values, rtol=0, atol=1e-12, equal_nan=True)


def among(matrices: Mapping[str, Matrix], clients: Collection[int] | None) -> dict[str, Matrix]:
    """The matrices of some clients (of a panel, whose rounds can be compared); all for None.

    Args:
        matrices: {view: matrix}.
        clients: Their numbers; None: all.

    Returns:
        {view: matrix}.
    """
    if clients is None:
        return dict(matrices)
    chosen, chosen_rows = set(clients), {}
    for view, matrix in matrices.items():
        keep = [j for j, client in enumerate(matrix.clients) if client in chosen]
        kept = [matrix.clients[j] for j in keep]
        chosen_rows[view] = Matrix(matrix.rounds, kept, matrix.values[:, keep])
    return chosen_rows


def matched(clusters: Matrix) -> Matrix:
    """Cluster numbers made to last: a method may number the same groups anew in every round. The
    last round keeps its numbers; each group before gets that of the later group which shares most
    members with it.

    Args:
        clusters: Cluster numbers.

    Returns:
        A new matrix of the same rounds and clients.
    """
    values = clusters.values.copy()
    # of each client, its number in the next round that tells it
    later = np.full(values.shape[1], np.nan)
    for row in values[::-1]:
        known = np.isfinite(row)
        row[known] = _renamed(row[known], later[known])
        later[known] = row[known]
    return Matrix(clusters.rounds, clusters.clients, values)


def _renamed(now: NDArray[np.float64], later: NDArray[np.float64]) -> NDArray[np.float64]:
    both = np.isfinite(later)
    groups, mine = np.unique(now, return_inverse=True)
    names, theirs = np.unique(later[both], return_inverse=True)
    overlap = np.zeros((len(groups), len(names)), dtype=int)
    np.add.at(overlap, (mine[both], theirs), 1)
    chosen = {i: float(names[j]) for i, j in _partners(overlap) if overlap[i, j]}
    for i, group in enumerate(groups.tolist()):
        if i not in chosen:
            used = set(chosen.values())
            chosen[i] = (
                group if group not in used else next(float(n) for n in count() if n not in used)
            )
    return np.array([chosen[int(i)] for i in mine])


def _partners(overlap: NDArray[np.int64]) -> list[tuple[int, int]]:
    """(row, column) pairs with the largest sum, each row and column once. Where every row has a
    largest number that no other row has in the same column, there is nothing to search.
    """
    rows = np.flatnonzero(overlap.any(1))
    best = overlap[rows].argmax(1) if len(rows) else rows
    largest = (overlap[rows] == overlap[rows, best][:, None]).sum(1)
    if (largest == 1).all() and len(np.unique(best)) == len(rows):
        return [(int(i), int(j)) for i, j in zip(rows, best, strict=True)]
    from scipy.optimize import linear_sum_assignment  # late: it is slow to load

    places = linear_sum_assignment(overlap, maximize=True)
    return [(int(i), int(j)) for i, j in zip(*places, strict=True)]


@dataclass(frozen=True)
class Stack:
    """Vectors of every client: ``values`` [rounds, clients, parts], nan where nothing was reported.
    ``rounds`` are the last one and others, evenly spaced, of the ``among`` rounds with a report.
    """

    rounds: list[int]
    clients: list[int]
    values: NDArray[np.float64]
    among: int

    def largest(self) -> Matrix:
        """The number of each client's largest part.

        Returns:
            From 0; nan where nothing was reported.
        """
        known = np.isfinite(self.values).any(2)
        values = np.nan_to_num(self.values, nan=-np.inf).argmax(2).astype(float)
        return Matrix(self.rounds, self.clients, np.where(known, values, np.nan))

    def last(self) -> NDArray[np.float64]:
        """[clients, parts]: what was reported last of each client.

        Returns:
            Nan where nothing was ever reported.
        """
        last: NDArray[np.float64] = carried(self.values)[-1]
        return last

    def mean(self) -> NDArray[np.float64]:
        """[clients, parts]: over the rounds; 0 where nothing was reported.

        Returns:
            A float each.
        """
        known = np.isfinite(self.values)
        total: NDArray[np.float64] = np.where(known, self.values, 0.0).sum(0) / np.maximum(
            known.sum(0), 1
        )
        return total


def carried(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Along the first axis, nan becomes what was there before it.

    Args:
        values: [rounds, …].

    Returns:
        A copy [rounds, …]; nan stays where nothing was before it.
    """
    filled = values.copy()
    for before, row in pairwise(filled):
        np.copyto(row, before, where=np.isnan(row))
    return filled


def note_matrix(run: Run, name: str, clients: Sequence[int] | None = None) -> Matrix | None:
    """A note that is one number, client by client; None if it is something else. The federation
    (-1) is no client, unless ``clients`` names it.

    Args:
        run: An open run.
        name: Of the note.
        clients: Numbers of those that are read; None: all clients.

    Returns:
        A row a round that has the note.
    """
    chosen = "client >= 0" if clients is None else f"client IN ({', '.join(map(str, clients))})"
    rows = run.rows(f"SELECT round, client, value FROM notes WHERE name = ? AND {chosen}", name)
    values = run.read_all([text for _, _, text in rows])
    if not values or not all(map(_is_one_number, values)):
        return None
    cells = [(at, client, value) for (at, client, _), value in zip(rows, values, strict=True)]
    return _matrix(np.array(cells, dtype=float))


def note_lists(run: Run, name: str, most: int) -> Stack | None:
    """A note that is a list of numbers, client by client; None if it is something else. Shorter
    ones end in nan; {place: number} is a list with 0 at the other places. Of many rounds ``most``
    are read (the last one alone for 1): a large run has a million lists.

    Args:
        run: An open run.
        name: Of the note.
        most: Rounds that are read, at least 1.

    Returns:
        A row a round that was read.
    """
    times = [
        at
        for (at,) in run.rows(
            "SELECT DISTINCT round FROM notes WHERE name = ? AND client >= 0 ORDER BY round", name
        )
    ]
    keep = evenly(times, most) if most > 1 else times[-1:]
    marks = ", ".join("?" * len(keep))
    query = (
        "SELECT round, client, value FROM notes WHERE name = ? AND client >= 0 AND round "
        f"IN ({marks})"
    )
    rows = run.rows(query, name, *keep)
    values = run.read_all([text for _, _, text in rows])
    width = len(run.clients)
    listed = [(row, v) for row, v in zip(rows, values, strict=True) if _is_listed(v, width)]
    if not listed:
        return None
    rounds, clients = sorted({row[0] for row, _ in listed}), sorted({row[1] for row, _ in listed})
    down, across = {r: i for i, r in enumerate(rounds)}, {c: i for i, c in enumerate(clients)}
    longest = max(width if isinstance(v, dict) else len(v) for _, v in listed)
    stacked = np.full((len(rounds), len(clients), longest), np.nan)
    for (at, client, _), v in listed:
        _put(stacked[down[at], across[client]], v, width)
    stacked[np.isinf(stacked)] = np.nan
    return Stack(rounds, clients, stacked, len(times))


def _is_listed(value: Any, width: int) -> bool:
    """Whether a note is a list of numbers, or {place: number} within so many places."""
    if isinstance(value, dict):
        places = all(
            place.isascii() and place.isdigit() and len(place) < 10 and int(place) < width
            for place in value
        )
        return places and width > 0 and all(map(_is_one_number, value.values()))
    return isinstance(value, list) and len(value) > 0 and all(map(_is_one_number, value))


def _is_one_number(value: Any) -> bool:
    """Not of True, nor of a whole number that is larger than a float can be. None was no finite
    number, and becomes nan.
    """
    return value is None or type(value) is float or (type(value) is int and abs(value) <= LOSS)


def _put(row: NDArray[np.float64], value: Any, width: int) -> None:
    """A note into its row, in place. One weight of thousands is never thousands of Python's."""
    if isinstance(value, dict):
        row[:width] = 0.0
        row[[int(place) for place in value]] = list(value.values())
    else:
        row[: len(value)] = value


def _test(run: Run, view: str, measure: str) -> Matrix:
    if measure in COLUMNS:
        query = (
            f"SELECT round, client, {COLUMNS[measure]} FROM metrics WHERE view = ? AND "
            "split = 'test'"
        )
        return _matrix(run.columns(query, view))
    query = (
        "SELECT round, client, value FROM measures WHERE view = ? AND split = 'test' AND name = ?"
    )
    return _matrix(run.columns(query, view, measure))


def _matrix(rows: NDArray[np.float64]) -> Matrix:
    """``rows``: round, client, value; nan where nothing finite was measured."""
    rounds, down = np.unique(rows[:, 0].astype(np.int64), return_inverse=True)
    clients, across = np.unique(rows[:, 1].astype(np.int64), return_inverse=True)
    values = np.full((len(rounds), len(clients)), np.nan)
    values[down, across] = np.where(np.isfinite(rows[:, 2]), rows[:, 2], np.nan)
    return Matrix(rounds.tolist(), clients.tolist(), values)
