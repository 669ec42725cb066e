"""From per-client losses and accuracies to the few numbers that are reported, and the rounds they
are taken from.
"""

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from fedkin.report.records import Run, number


class Curve(NamedTuple):
    """One view over the rounds that were evaluated; None where nothing was measured.

    ``validation``: accuracy weighted by validation samples; ``test``: plain mean of the clients'
    test accuracy.
    """

    rounds: list[int]
    validation: list[float | None]
    test: list[float | None]


def curves(run: Run) -> dict[str, Curve]:
    """{view: Curve}, personal first."""
    query = """
        SELECT m.round, m.view,
               sum(CASE WHEN m.split = 'val' THEN m.accuracy * c.val END)
                   / nullif(sum(CASE WHEN m.split = 'val' AND m.accuracy IS NOT NULL
                                     THEN c.val END), 0),
               avg(CASE WHEN m.split = 'test' THEN m.accuracy END)
        FROM metrics m LEFT JOIN clients c ON c.client = m.client
        GROUP BY m.round, m.view ORDER BY m.round
    """
    found: dict[str, Curve] = {}
    for at, view, validation, test in run.rows(query):
        curve = found.setdefault(view, Curve([], [], []))
        curve.rounds.append(at)
        curve.validation.append(validation)
        curve.test.append(test)
    return {view: found[view] for view in sorted(found, key=lambda v: (v != "personal", v))}


def chosen_rounds(curve: Curve) -> dict[str, int | None]:
    """The round of each reported number: the last, the best by validation, the best on test (ties:
    the earliest).
    """
    return {
        "final": curve.rounds[-1] if curve.rounds else None,
        "best_by_validation": _highest(curve.rounds, curve.validation),
        "best_on_test": _highest(curve.rounds, curve.test),
    }


def scores(
    run: Run, at: int, view: str, split: str = "test"
) -> dict[int, tuple[float | None, float | None]]:
    """{client: (loss, accuracy)} of one round."""
    query = (
        "SELECT client, loss, accuracy FROM metrics WHERE round = ? AND view = ? AND "
        "split = ? ORDER BY client"
    )
    return {client: (loss, accuracy) for client, loss, accuracy in run.rows(query, at, view, split)}


def measures(
    run: Run, at: int, view: str, split: str = "test"
) -> dict[str, dict[int, float | None]]:
    """{"rmse": {client: value}, …} of one round; {} in runs that have none."""
    if not run.rows("SELECT 1 FROM sqlite_master WHERE name = 'measures'"):
        return {}
    query = (
        "SELECT name, client, value FROM measures WHERE round = ? AND view = ? AND split "
        "= ? ORDER BY name, client"
    )
    found: dict[str, dict[int, float | None]] = {}
    for name, client, value in run.rows(query, at, view, split):
        found.setdefault(name, {})[client] = value
    return found


def spread(
    values: Mapping[int, float | None], weights: Mapping[int, int], worst: str = "low"
) -> dict[str, Any]:
    """Mean, sample-weighted mean, population standard deviation and worst decile over clients.

    ``weights``: the clients' test samples. ``worst``: "low" where small numbers are bad (accuracy),
    "high" for losses. The worst decile is the mean over the worst ⌊n / 10⌋ clients, at least one.
    ``clients`` is n, those with a value; ``without`` counts clients that have test samples and yet
    no finite value.
    """
    known = {client: float(v) for client, v in values.items() if v is not None and math.isfinite(v)}
    without = sum(1 for client in values if client not in known and weights.get(client, 0) > 0)
    if not known:
        nothing = dict.fromkeys(("mean", "weighted", "std", "worst_decile"))
        return {**nothing, "clients": 0, "without": without}
    array = np.array(list(known.values()))
    sizes = np.array([weights.get(client, 0) for client in known], dtype=float)
    ordered = np.sort(array) if worst == "low" else np.sort(array)[::-1]
    return {
        "mean": number(array.mean()),
        "weighted": number((array * sizes).sum() / sizes.sum()) if sizes.sum() > 0 else None,
        "std": number(array.std()),
        "worst_decile": number(ordered[: max(1, len(ordered) // 10)].mean()),
        "clients": len(known),
        "without": without,
    }


def _highest(rounds: list[int], values: list[float | None]) -> int | None:
    best: tuple[float, int] | None = None
    for at, value in zip(rounds, values, strict=True):
        # Rounded, for equal means may differ in their last bits; then the earliest round has it.
        if value is not None and (best is None or round(value, 12) > best[0]):
            best = round(value, 12), at
    return None if best is None else best[1]
