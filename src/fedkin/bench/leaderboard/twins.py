"""Methods that did the same under two names. One of them is ranked: a second place for the same
numbers would move the mean ranks of all others, and the tests that go by them.
"""

import math
from collections.abc import Mapping, Sequence

from fedkin.bench.leaderboard.entries import Entry

CLOSE = 1e-5  # of a score: another processor rounds otherwise, by some 1e-8 after 60 rounds
# of FLOPs: some rows have those of seed 0 under every seed (docs/history/bench.md)
CLOSE_FLOPS = 0.01


def twins_of(board: Sequence[Entry]) -> dict[str, str]:
    """Who did what another did: the same seeds, hyper-parameters and bytes in all of its
    federations and budgets, the same FLOPs within 1 %, and scores that differ by rounding at most.
    `fedsim` without rates of its own is `fedper`.

    Args:
        board: Entries of any budget.

    Returns:
        {method: the one that is ranked}. That is the one with more entries, and of as many the
        first by name.
    """
    by: dict[str, dict[tuple[str, str], Entry]] = {}
    for one in board:
        by.setdefault(one.method, {})[one.federation, one.budget] = one
    ranked: list[str] = []
    found: dict[str, str] = {}
    for name in sorted(by, key=lambda name: (-len(by[name]), name)):
        twin = next((other for other in ranked if _within(by[name], by[other])), None)
        if twin is None:
            ranked.append(name)
        else:
            found[name] = twin
    return found


def unranked_notes(twins: Mapping[str, str]) -> str:
    """Who has no rank of its own, and why.

    Args:
        twins: What ``twins_of`` found.

    Returns:
        A sentence for each; "" of nobody.
    """
    return " ".join(
        f"{name} did what {other} did, but for rounding, and has no rank of its own."
        for name, other in twins.items()
    )


def _within(one: Mapping[tuple[str, str], Entry], other: Mapping[tuple[str, str], Entry]) -> bool:
    return all(key in other and _same(entry, other[key]) for key, entry in one.items())


def _same(one: Entry, other: Entry) -> bool:
    """All but names and clocks."""
    scores = zip(_scores(one), _scores(other), strict=True)
    return (
        _counts(one) == _counts(other)
        and math.isclose(one.flops, other.flops, rel_tol=CLOSE_FLOPS)
        and all(_close(mine, its) for mine, its in scores)
    )


def _counts(one: Entry) -> tuple[object, ...]:
    seeds = sorted(zip(one.seeds, one.rounds, strict=True))
    return seeds, one.hyper, one.helped, one.hurt, one.bytes


def _scores(one: Entry) -> tuple[float | None, ...]:
    return one.mean, one.spread, one.worst_decile


def _close(one: float | None, other: float | None) -> bool:
    if one is None or other is None:
        return one is other
    return math.isclose(one, other, rel_tol=CLOSE)
