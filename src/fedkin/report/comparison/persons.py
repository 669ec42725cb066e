"""Scores over several seeds as values that can be drawn: one a person where the seeds have the same
persons.
"""

from collections.abc import Iterable, Mapping
from statistics import fmean

from fedkin.report.comparison.run_row import Seen


def by_person(scores: Iterable[tuple[Seen, Mapping[int, float]]]) -> dict[object, float]:
    """{who: mean over the seeds}. A natural client is one person under every seed, and so one
    value; elsewhere each seed deals the samples anew, and its clients are others.

    Args:
        scores: A run, and a number of each of its clients.
    """
    found: dict[object, list[float]] = {}
    for one, by_client in scores:
        for client, value in by_client.items():
            found.setdefault(_who(one, client), []).append(value)
    return {who: fmean(values) for who, values in found.items()}


def _who(one: Seen, client: int) -> object:
    return one.persons.get(client, (one.row["seed"], client))
