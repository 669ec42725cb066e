"""Whether a run does worse than what needs no federation."""

from collections.abc import Mapping
from typing import Any

from fedkin.core.measures import ASIDE, measure_named
from fedkin.report import formatting
from fedkin.report.intervals import over_clients
from fedkin.report.records import Run
from fedkin.report.scores import values

FEWEST = 3  # clients, for an interval over them


def beaten(run: Run, measure: str, headline: Mapping[str, Any], names: list[str]) -> list[str]:
    """A sentence where a baseline is better than the first view, client by client and beyond
    chance.

    Args:
        run: An open run.
        measure: The run's measure.
        headline: Of its summary.
        names: The baselines that are known by this measure, the best last.

    Returns:
        [] or one sentence.
    """
    if measure in ASIDE or not headline or not run.finished:
        return []
    view, picks = next(iter(headline.items()))
    own = values(run, picks["final"]["round"], view, measure)
    sign = measure_named(measure).sign
    known: Mapping[str, Mapping[str, float]] = run.facts.get("baselines") or {}
    for name in reversed(names):
        theirs = {int(client): value for client, value in known[name].items()}
        apart = {
            client: sign * (value - theirs[client])
            for client, value in own.items()
            if value is not None and client in theirs
        }
        interval = over_clients(apart) if len(apart) >= FEWEST else None
        if interval and interval[1] < 0:
            return [_sentence(name, measure, [theirs[k] for k in apart], [own[k] for k in apart])]
    return []


def _sentence(name: str, measure: str, theirs: list[float], own: list[Any]) -> str:
    baseline, here = (formatting.value(measure, sum(one) / len(one)) for one in (theirs, own))
    return (
        f"{formatting.BASELINES[name]} does better than this run ({formatting.label(measure)} "
        f"{baseline} against {here} on the same clients): fedkin doctor says whether federating "
        "can help, and with which method"
    )
