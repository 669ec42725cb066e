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

    Returns:
        In the numbers' own unit.
    """
    by_who: dict[object, list[float]] = {}
    for one, by_client in scores:
        for client, value in by_client.items():
            by_who.setdefault(_who(one, client), []).append(value)
    return {who: fmean(values) for who, values in by_who.items()}


def shares(scores: Iterable[tuple[Seen, Mapping[int, float]]]) -> dict[object, float]:
    """{who: what a person counts}: the sum of its shares over the seeds that it is in.

    Args:
        scores: A run, and each client's share of its mean.

    Returns:
        {who: a sum of shares}.
    """
    by_who: dict[object, float] = {}
    for one, by_client in scores:
        for client, share in by_client.items():
            who = _who(one, client)
            by_who[who] = by_who.get(who, 0.0) + share
    return by_who


def by_share(
    scores: Iterable[tuple[Seen, Mapping[int, float], Mapping[int, float]]],
) -> dict[object, float]:
    """``by_person`` where a person's share of the mean is not the same under every seed. The mean
    of these values by ``shares`` is the mean over seeds of the seeds' own means.

    Args:
        scores: A run, a number of each of its clients, and each one's share of the run's mean.

    Returns:
        In the numbers' own unit; who counts nothing is left out.
    """
    every = list(scores)
    whole = shares((one, {k: share[k] for k in values}) for one, values, share in every)
    parts = ((one, {k: v * share[k] for k, v in values.items()}) for one, values, share in every)
    return {who: part / whole[who] for who, part in shares(parts).items() if whole[who]}


def seeds_of(scores: Iterable[tuple[Seen, Mapping[int, float]]]) -> dict[object, int] | None:
    """{who: its seed}: the clients of one seed share a model and a split.

    Args:
        scores: A run, and a number of each of its clients.

    Returns:
        None of one seed, or of persons, whom every seed has: they are one sample.
    """
    every = list(scores)
    if any(one.persons for one, _ in every) or len({one.row["seed"] for one, _ in every}) < 2:
        return None
    return {_who(one, client): one.row["seed"] for one, values in every for client in values}


def _who(one: Seen, client: int) -> object:
    return one.persons.get(client, (one.row["seed"], client))
