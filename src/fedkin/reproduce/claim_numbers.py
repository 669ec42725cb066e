"""What claims are judged by: numbers of a finished run, by client where the run has
them by client.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from fedkin.report.records import Run, opened
from fedkin.report.scores import curves, scores
from fedkin.report.summary import extras, of_run, summary
from fedkin.reproduce.cost import cost
from fedkin.reproduce.measures import MEASURES
from fedkin.runs.bounds import is_number
from fedkin.runs.record import FEDERATION

Numbers = Mapping[str, float]  # client → number; a number of the whole run has the client ""
Reader = Callable[[Path], Numbers]
WHOLE = ""


def _of_record(read: Callable[[Run], Numbers]) -> Reader:
    """A reader of the record alone."""

    def numbers(folder: Path) -> Numbers:
        with opened(folder) as run:
            return read(run)

    return numbers


def _accuracy(view: str, share: float = 1.0) -> Reader:
    """Test accuracy by client, percent, after the last evaluation up to this share of
    the rounds.
    """

    @_of_record
    def read(run: Run) -> Numbers:
        curve = curves(run).get(view)
        if curve is None:
            return {}
        limit = share * curve.rounds[-1]
        at = max((r for r in curve.rounds if r <= limit), default=curve.rounds[0])
        by_client = scores(run, at, view)
        return {
            run.name(k): 100 * value for k, (_, value) in by_client.items() if value is not None
        }

    return read


def _note(name: str) -> Reader:
    """What a note said of each client last."""

    @_of_record
    def read(run: Run) -> Numbers:
        return _last_notes(run, name)

    return read


def _last_notes(run: Run, name: str) -> dict[str, float]:
    notes = extras(run).get(name, {})
    return {k: float(v) for k, v in notes.items() if isinstance(v, int | float)}


def _whole(name: str) -> Reader:
    """A number of the whole run, as the presets have it."""

    def read(folder: Path) -> Numbers:
        value = MEASURES[name][1](folder, summary(folder))
        return {} if value is None else {WHOLE: float(value)}

    return read


@_of_record
def _newcomers(run: Run) -> Numbers:
    """Test accuracy, percent, of clients that joined after the run with all labels that
    they have.
    """
    each = run.facts.get("newcomers") or []
    accuracies = {
        str(one["client"]): one["scores"]["personal"]["test"]["accuracy"]
        for one in each
        if one["asked"] is None
    }
    return {name: 100 * value for name, value in accuracies.items() if value is not None}


@_of_record
def _groups(run: Run) -> Numbers:
    """Adjusted Rand index between the largest memberships and the classes that clients hold; 1
    where they agree.

    Clients are of one group where they share classes (PPFL's label groups).
    """
    from sklearn.metrics import adjusted_rand_score

    kinds, chosen = _grouped(run)
    return {WHOLE: float(adjusted_rand_score(kinds, chosen))} if kinds else {}


def _grouped(run: Run) -> tuple[list[int], list[int]]:
    """(the group, the canonical model with the largest membership) of each client that has both."""
    memberships = extras(run).get("membership", {})
    held = {
        c.name: set(np.flatnonzero(c.histogram).tolist())
        for c in run.clients.values()
        if c.histogram
    }
    both = [name for name in memberships if name in held]
    return _united([held[name] for name in both]), [
        int(np.argmax(memberships[name])) for name in both
    ]


def _united(held: list[set[Any]]) -> list[int]:
    """A number for each set: equal for sets that share classes, directly or through others."""
    parts: list[set[Any]] = []
    for own in held:
        apart = [part for part in parts if not part & own]
        parts = [*apart, own.union(*(part for part in parts if part & own))]
    return [next(k for k, part in enumerate(parts) if own <= part) for own in held]


@_of_record
def _purity(run: Run) -> Numbers:
    """Homogeneity of the largest memberships: 1 where no canonical model is used by clients of two
    groups.
    """
    from sklearn.metrics import homogeneity_score

    kinds, chosen = _grouped(run)
    return {WHOLE: float(homogeneity_score(kinds, chosen))} if kinds else {}


@_of_record
def _largest(run: Run) -> Numbers:
    """Each client's largest membership."""
    return {name: float(max(shares)) for name, shares in extras(run).get("membership", {}).items()}


@_of_record
def _settled(run: Run) -> Numbers:
    """How much the distance between cluster models changed over the last quarter of the rounds,
    relative to its end.
    """
    query = "SELECT value FROM notes WHERE name = 'distance' AND client = ? ORDER BY round"
    losses = [run.read(text, is_number) for (text,) in run.rows(query, FEDERATION)]
    if len(losses) < 4 or not losses[-1]:
        return {}
    return {WHOLE: abs(losses[-1] - losses[-1 - len(losses) // 4]) / losses[-1]}


@_of_record
def _server(run: Run) -> Numbers:
    """The server's share of all seconds."""
    seconds = of_run(run)["seconds"]
    return {WHOLE: seconds["server"] / seconds["total"]} if seconds["total"] else {}


def _processor(folder: Path) -> Numbers:
    spent = cost(folder)
    return {} if spent is None else {WHOLE: spent.total}


def _distinct(name: str) -> Reader:
    """How many different values a note had, of as many clients: 1 where all agree, 0 clients
    without it.
    """

    @_of_record
    def read(run: Run) -> Numbers:
        values = _last_notes(run, name).values()
        return {WHOLE: float(len(set(values)))} if values else {}

    return read


@_of_record
def _not_last(run: Run) -> Numbers:
    """1 for each client whose teacher is of a round before the last, else 0."""
    last = run.committed()
    return {name: float(at < last) for name, at in _last_notes(run, "teacher_round").items()}


NUMBERS: dict[str, tuple[str, Reader | None]] = {
    "accuracy": ("personal test accuracy, %", _accuracy("personal")),
    "early accuracy": (
        "personal test accuracy at half of the rounds, %",
        _accuracy("personal", 0.5),
    ),
    "global accuracy": ("test accuracy of the global model, %", _accuracy("global")),
    "newcomers": ("test accuracy of clients that join later, %", _newcomers),
    "sd over clients": ("sd over clients of test accuracy, %", _whole("sd over clients")),
    "scalars": ("scalars sent, paper's rule", _whole("scalars")),
    "minutes": ("minutes", _whole("minutes")),
    "rounds": ("rounds", _whole("rounds")),
    "stability": ("share of clients that keep their cluster", _whole("stability")),
    "recovery": ("recovery error of memberships", _whole("recovery")),
    "distance change": ("change of the distance over the last quarter", _settled),
    "server share": ("the server's share of the seconds", _server),
    "processor": ("processor seconds", _processor),
    "purity": ("canonical models used by one group only", _purity),
    "largest membership": ("largest membership of a client", _largest),
    "groups": ("agreement of memberships and groups", _groups),
    "imitation": ("λ that a client chose", _note("imitation")),
    "teachers": ("different teachers", _distinct("teacher_round")),
    "early teacher": ("teachers of a round before the last", _not_last),
    # of COMET's regression, which makes no run
    "distance to its truth": ("distance to its truth", None),
}
EXACT = {"scalars", "rounds"}  # the same for every seed


def numbers(folder: Path, measure: str) -> Numbers:
    """A measure of a finished run, by client.

    Args:
        folder: The run directory.
        measure: A key of NUMBERS.

    Returns:
        {client's name: value}, or one value of the whole run; {} where it has none. Accuracies are
        in per cent.
    """
    reader = NUMBERS[measure][1]
    if reader is None:
        return {}
    return reader(folder)
