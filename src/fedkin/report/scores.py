"""From per-client scores to the few numbers that are reported, and the rounds they are
taken from.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from fedkin.core.measures import comparable, is_measure
from fedkin.report.records import Run, number
from fedkin.runs.record import FEDERATION

# measures that are columns of ``metrics``
COLUMNS = {"accuracy": "accuracy", "log_loss": "loss", "loss": "loss"}


class Curve(NamedTuple):
    """One view over the rounds that were evaluated; None where nothing was measured.

    ``validation``: a measure weighted by validation samples, None also where a client that has some
    diverged; ``test``: its plain mean over the clients' test data.
    """

    rounds: list[int]
    validation: list[float | None]
    test: list[float | None]


def measure_of(run: Run) -> str:
    """What the experiment goes by; of runs from before it was a choice: accuracy, or the loss of a
    regression.

    Args:
        run: An open run.

    Returns:
        The name of a measure, or "loss".
    """
    chosen = run.facts.get("measure")
    if isinstance(chosen, str) and is_measure(chosen):
        return chosen
    return (
        "accuracy"
        if run.rows("SELECT 1 FROM metrics WHERE accuracy IS NOT NULL LIMIT 1")
        else "loss"
    )


def curves(run: Run, measure: str = "accuracy") -> dict[str, Curve]:
    """{view: Curve} of a measure, personal first; every view and round that was
    evaluated is there.

    Args:
        run: An open run.
        measure: The name of a measure, or "loss".

    Returns:
        Values in the measure's own unit; read once.
    """
    key = ("curves", measure)
    if key not in run.kept:
        run.kept[key] = _curves(run, measure)
    by_view: dict[str, Curve] = run.kept[key]
    return by_view


def _curves(run: Run, measure: str) -> dict[str, Curve]:
    if measure in COLUMNS:
        source, value = "metrics m", f"m.{COLUMNS[measure]}"
    else:
        source, value = f"metrics m {_JOINED if _has(run, 'measures') else _NOTHING}", "o.value"
    # One view at a time: rows lie in the order of rounds, and SQLite has nothing to sort.
    weight = f"CASE WHEN m.client = {FEDERATION} THEN 1 ELSE c.val END"  # a sum is weighted already
    query = f"""
        SELECT m.round,
               CASE WHEN max({_DIVERGED}) THEN NULL ELSE
                   sum(CASE WHEN m.split = 'val' THEN {value} * {weight} END)
                       / nullif(sum(CASE WHEN m.split = 'val' AND {value} IS NOT NULL
                                         THEN {weight} END), 0) END,
               avg(CASE WHEN m.split = 'test' THEN {value} END)
        FROM {source} LEFT JOIN clients c ON c.client = m.client
        WHERE m.view = ? {of_panel(run)} GROUP BY m.round ORDER BY m.round
    """
    parameters = [] if measure in COLUMNS else [measure]
    by_view: dict[str, Curve] = {}
    for (view,) in run.rows("SELECT DISTINCT view FROM metrics"):
        rows = run.rows(query, *parameters, view)
        if rows:
            by_view[view] = Curve(*(list(column) for column in zip(*rows, strict=True)))
    return {view: by_view[view] for view in sorted(by_view, key=lambda v: (v != "personal", v))}


def of_panel(run: Run) -> str:
    """One more condition, in SQL, that keeps the panel's rows of ``metrics m``: rounds are compared
    by the same clients. Empty where everybody, or each round's participants, were evaluated.

    Args:
        run: An open run.

    Returns:
        Words of SQL, or "".
    """
    first = run.panel_round()
    if first is None:
        return ""
    return f"AND m.client IN (SELECT client FROM metrics WHERE round = {first:d})"


_JOINED = """LEFT JOIN measures o ON o.round = m.round AND o.client = m.client AND o.view = m.view
            AND o.split = m.split AND o.name = ?"""
# Worse than any number, so that its round is never chosen for the others' numbers. The loss of a
# federation's sum is no number where that of one client is none.
_DIVERGED = f"m.split = 'val' AND m.loss IS NULL AND (m.client = {FEDERATION} OR c.val > 0)"
_NOTHING = "LEFT JOIN (SELECT NULL AS value WHERE 0 AND ?) o"


def chosen_rounds(curve: Curve, higher: bool = True) -> dict[str, int | None]:
    """The round of each reported number: the last, the best by validation, the best on test (ties:
    the earliest).

    Args:
        curve: Of one view.
        higher: Whether more of the curve's measure is better.

    Returns:
        {"final", "best_by_validation", "best_on_test": a round, or None where nothing was
        measured}.
    """
    return {
        "final": curve.rounds[-1] if curve.rounds else None,
        "best_by_validation": _best(curve.rounds, curve.validation, higher),
        "best_on_test": _best(curve.rounds, curve.test, higher),
    }


def values(
    run: Run, at: int, view: str, measure: str, split: str = "test"
) -> dict[int, float | None]:
    """{client: a measure} of one round; None where it is not defined, or was not taken in that
    round.

    Args:
        run: An open run.
        at: The round.
        view: "personal" or "global", say.
        measure: The name of a measure, or "loss".
        split: "train", "val" or "test".

    Returns:
        In the measure's own unit; accuracies are fractions 0..1.
    """
    of = scores(run, at, view, split)
    if measure in COLUMNS:
        place = 1 if measure == "accuracy" else 0
        return {client: pair[place] for client, pair in of.items()}
    known = measures(run, at, view, split).get(measure, {})
    return {client: known.get(client) for client in of}


def scores(
    run: Run, at: int, view: str, split: str = "test"
) -> Mapping[int, tuple[float | None, float | None]]:
    """{client: (loss, accuracy)} of one round.

    Args:
        run: An open run.
        at: The round.
        view: "personal" or "global", say.
        split: "train", "val" or "test".

    Returns:
        Losses are means per sample, accuracies fractions 0..1; None where nothing was measured.
    """
    key = ("scores", at, view, split)
    if key not in run.kept:  # half a dozen numbers of a page are of the same rounds
        query = (
            "SELECT client, loss, accuracy FROM metrics WHERE round = ? AND view = ? AND "
            "split = ? ORDER BY client"
        )
        rows = run.rows(query, at, view, split)
        run.kept[key] = {client: (loss, accuracy) for client, loss, accuracy in rows}
    by_client: Mapping[int, tuple[float | None, float | None]] = run.kept[key]
    return by_client


def measures(
    run: Run, at: int, view: str, split: str = "test"
) -> dict[str, dict[int, float | None]]:
    """{"rmse": {client: value}, …} of one round; {} in runs that have none.

    Args:
        run: An open run.
        at: The round.
        view: "personal" or "global", say.
        split: "train", "val" or "test".

    Returns:
        Each in its own unit.
    """
    if not _has(run, "measures"):
        return {}
    query = (
        "SELECT name, client, value FROM measures WHERE round = ? AND view = ? AND split "
        "= ? ORDER BY name, client"
    )
    by_measure: dict[str, dict[int, float | None]] = {}
    for name, client, value in run.rows(query, at, view, split):
        by_measure.setdefault(name, {})[client] = value
    return by_measure


def counted(run: Run, at: int, view: str, measure: str) -> tuple[int, int]:
    """Of a test score that arrived as a sum, how many clients it is of, and how many others have
    test samples; 0 and 0 of scores that arrived client by client.

    Args:
        run: An open run.
        at: The round.
        view: "personal" or "global", say.
        measure: The name of a measure, or "loss".

    Returns:
        (clients in the mean, others that have test samples).
    """
    if not _has(run, "counted"):
        return 0, 0
    query = "SELECT clients, without FROM counted WHERE round = ? AND view = ? AND name = ?"
    rows = run.rows(query, at, view, COLUMNS.get(measure, measure))
    return (int(rows[0][0]), int(rows[0][1])) if rows else (0, 0)


def spread(
    values: Mapping[int, float | None],
    weights: Mapping[int, int],
    worst: str = "low",
    summed: tuple[int, int] = (0, 0),
) -> dict[str, Any]:
    """Mean, sample-weighted mean, population standard deviation and worst decile over clients. The
    worst decile is the mean over the worst ⌊n / 10⌋ clients, at least one. Of scores that arrived
    as a sum there is a mean alone.

    Args:
        values: {client: value}, None where it is not known.
        weights: {client: its test samples}.
        worst: "low" where small numbers are bad (accuracy), "high" for losses.
        summed: What clients counted of themselves, of scores that arrived as a sum (``counted``).

    Returns:
        {"mean", "weighted", "std", "worst_decile": in the values' unit, or None; "clients": n,
        those with a value; "without": those that have test samples and yet no finite value}.
    """
    every = np.array(list(values.values()), dtype=float)  # None becomes nan
    tested = np.array([weights.get(client, 0) for client in values], dtype=float)
    known = np.isfinite(every)
    without = int((~known & (tested > 0)).sum())
    if FEDERATION in values:
        mean = number(values[FEDERATION]) if known.any() else None
        apart = dict.fromkeys(("weighted", "std", "worst_decile"))
        return {"mean": mean, **apart, "clients": summed[0], "without": summed[1]}
    if not known.any():
        nothing = dict.fromkeys(("mean", "weighted", "std", "worst_decile"))
        return {**nothing, "clients": 0, "without": without}
    array, sizes = every[known], tested[known]
    ordered = np.sort(array) if worst == "low" else np.sort(array)[::-1]
    return {
        "mean": number(array.mean()),
        "weighted": number((array * sizes).sum() / sizes.sum()) if sizes.sum() > 0 else None,
        "std": number(array.std()),
        "worst_decile": number(ordered[: tenth(len(ordered))].mean()),
        "clients": len(array),
        "without": without,
    }


def tenth(clients: int) -> int:
    """How many clients a decile holds, such as the worst one: ⌊n / 10⌋, at least one.

    Args:
        clients: How many there are.

    Returns:
        From 1.
    """
    return max(1, clients // 10)


def _has(run: Run, table: str) -> bool:
    """Whether a record has a table that older ones lack."""
    return bool(run.rows("SELECT 1 FROM sqlite_master WHERE name = ?", table))


def _best(rounds: list[int], values: list[float | None], higher: bool) -> int | None:
    sign = 1 if higher else -1
    best: tuple[float, int] | None = None
    for at, value in zip(rounds, values, strict=True):
        # of equal means the earliest round has it
        if value is not None and (best is None or sign * comparable(value) > best[0]):
            best = sign * comparable(value), at
    return None if best is None else best[1]
