"""Scores over several seeds: one a pair of client and seed, or one a person over all seeds."""

from collections.abc import Hashable, Iterable, Mapping
from typing import TypeVar

from fedkin.report.comparison.run_row import ComparedRun
from fedkin.report.intervals import Pair

Who = TypeVar("Who", bound=Hashable)


def by_pair(scores: Iterable[tuple[ComparedRun, Mapping[int, float]]]) -> dict[Pair, float]:
    """{pair: its score}. A natural client is one person under every seed; elsewhere each seed deals
    the samples anew, and its clients are others.

    Args:
        scores: Of one experiment: a run a seed, and a number of each of its clients.

    Returns:
        In the numbers' own unit.
    """
    return {
        Pair(one.row["seed"], _who(one, client)): value
        for one, by_client in scores
        for client, value in by_client.items()
    }


def weights_by_pair(scores: Iterable[tuple[ComparedRun, Mapping[int, float]]]) -> dict[Pair, float]:
    """{pair: what it counts}, over all experiments that are ranked together.

    Args:
        scores: A run of any of them, and each client's share of its mean.

    Returns:
        {pair: a sum of shares}.
    """
    return _summed(item for one in scores for item in by_pair([one]).items())


def shares(scores: Iterable[tuple[ComparedRun, Mapping[int, float]]]) -> dict[object, float]:
    """{who: what a person counts}: the sum of its shares over the seeds that it is in.

    Args:
        scores: A run, and each client's share of its mean.

    Returns:
        {who: a sum of shares}.
    """
    return _summed(
        (_who(one, client), share)
        for one, by_client in scores
        for client, share in by_client.items()
    )


def unequal(weights: Mapping[Who, float]) -> Mapping[Who, float] | None:
    """Weights, where they are some: with equal ones everything is as without.

    Args:
        weights: {pair or person: how much it counts}.

    Returns:
        None where all count the same.
    """
    return weights if len(set(weights.values())) > 1 else None


def by_share(
    scores: Iterable[tuple[ComparedRun, Mapping[int, float], Mapping[int, float]]],
) -> dict[object, float]:
    """{who: its mean over the seeds}, where a person's share of the mean may differ between seeds.
    The mean of these values by ``shares`` is the mean over seeds of the seeds' own means.

    Args:
        scores: A run, a number of each of its clients, and each one's share of the run's mean.

    Returns:
        In the numbers' own unit; who counts nothing is left out.
    """
    every = list(scores)
    whole = shares((one, {k: share[k] for k in values}) for one, values, share in every)
    parts = ((one, {k: v * share[k] for k, v in values.items()}) for one, values, share in every)
    return {who: part / whole[who] for who, part in shares(parts).items() if whole[who]}


def _summed(numbers: Iterable[tuple[Who, float]]) -> dict[Who, float]:
    by: dict[Who, float] = {}
    for who, number in numbers:
        by[who] = by.get(who, 0.0) + number
    return by


def _who(one: ComparedRun, client: int) -> object:
    return one.persons.get(client, (one.row["seed"], client))
