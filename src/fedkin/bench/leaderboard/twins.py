"""Methods that did the same under two names. One of them is ranked: a second place for the same
numbers would move the mean ranks of all others, and the tests that go by them.
"""

from collections.abc import Mapping, Sequence

from fedkin.bench.leaderboard.entries import Entry

Numbers = tuple[object, ...]


def twins_of(board: Sequence[Entry]) -> dict[str, str]:
    """Who did what another did, number for number: the same seeds, hyper-parameters, scores, bytes
    and FLOPs in all of its federations and budgets. `fedsim` without rates of its own is `fedper`.

    Args:
        board: Entries of any budget.

    Returns:
        {method: the one that is ranked}. That is the one with more entries, and of as many the
        first by name.
    """
    by: dict[str, dict[tuple[str, str], Numbers]] = {}
    for one in board:
        by.setdefault(one.method, {})[one.federation, one.budget] = _numbers(one)
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
        f"{name} did what {other} did, number for number, and has no rank of its own."
        for name, other in twins.items()
    )


def _numbers(one: Entry) -> Numbers:
    """All but what tells names and clocks apart."""
    return (
        tuple(sorted(zip(one.seeds, one.rounds, strict=True))),
        one.hyper,
        one.mean,
        one.spread,
        one.worst_decile,
        one.helped,
        one.hurt,
        one.bytes,
        one.flops,
    )


def _within(
    one: Mapping[tuple[str, str], Numbers], other: Mapping[tuple[str, str], Numbers]
) -> bool:
    return all(other.get(key) == numbers for key, numbers in one.items())
