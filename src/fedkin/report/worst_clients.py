"""The clients of the worst decile, each with how sure its number is."""

import math
from typing import Any

from fedkin.core.measures import ASIDE, measure_named
from fedkin.report.intervals import FEW, LEVEL, exact_of_share, of_error
from fedkin.report.records import Run
from fedkin.report.scores import measures, tenth, values
from fedkin.runs.record import FEDERATION


def worst_clients(run: Run, at: int, view: str, measure: str) -> list[dict[str, Any]]:
    """{client, test, value, interval, few} of the clients whose mean is the worst decile, worst
    first.

    ``test``: its test rows; ``interval``: of an accuracy Clopper and Pearson's, of other measures
    by the bootstrap error that the client sent; ``few``: whether it has fewer than FEW test rows,
    whose number is coarse.

    The worst of many is the worst by chance, too. So each interval has the level 1 − 0.05 / clients
    (Bonferroni): those of an accuracy hold all clients' true values at once, 95 % of the time.
    Those of other measures are approximate. There is none where the error is missing or 0 (at an
    end of the measure's range the rows drawn again say nothing of others), or test rows are few.

    Args:
        run: An open run.
        at: The round.
        view: "personal" or "global", say.
        measure: The name of a measure, or "loss".

    Returns:
        A dict a client, of at least one where there is any; values are in the measure's own unit.
    """
    by_client = values(run, at, view, measure)
    known = {
        k: v
        for k, v in by_client.items()
        if v is not None and math.isfinite(v) and k != FEDERATION  # whose mean is no client's
    }
    higher = measure not in ASIDE and measure_named(measure).higher
    order = sorted(known, key=lambda k: (known[k] if higher else -known[k], k))
    errors = measures(run, at, view).get("se", {})
    level = 1 - (1 - LEVEL) / max(1, len(order))
    rows = []
    for client in order[: tenth(len(order))]:
        one = run.clients.get(client)
        count = 0 if one is None else one.test
        rows.append(
            {
                "client": run.name(client),
                "test": count,
                "value": known[client],
                "interval": _interval(measure, known[client], count, errors.get(client), level),
                "few": count < FEW,
            }
        )
    return rows


def _interval(
    measure: str, value: float, rows: int, error: float | None, level: float
) -> tuple[float, float] | None:
    if measure == "accuracy":
        return exact_of_share(value, rows, level) if rows else None
    if error is None or not math.isfinite(error) or error <= 0 or rows < FEW:
        return None
    low, high = of_error(value, error, level)
    if measure in ASIDE:
        return low, high
    possible = measure_named(measure)
    return max(low, possible.least), min(high, possible.most)
