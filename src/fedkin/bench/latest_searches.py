"""The rows of a file that are comparable: a table that is only ever appended to may hold several
searches of one method, and settings that were changed since.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from fedkin.bench.row import Row
from fedkin.bench.suite import ALONE, digest, settled
from fedkin.core.errors import some

CHOSEN = {"train": ("lr",), "run": ("seed", "rounds", "evaluate_every")}  # by a search, or a budget
OTHER_SETTING = "its rows are of another setting than those of local: run it again"


class _Protocol(NamedTuple):
    """What all methods of a federation have alike, by what a person calls it. Rounds are those of
    the rows that have as many as all others; {} where a suite has no such rows.
    """

    rounds: frozenset[int]
    seeds: frozenset[int]
    rates: frozenset[str]


def latest_searches(rows: Sequence[Row]) -> list[Row]:
    """The rows of each method's last search in its federation.

    Args:
        rows: In the order in which they were written.

    Returns:
        Those, in their order. Where a method's last search was on another setting than local's, or
        with other rounds, seeds, rates or trials, one row that says so.
    """
    kept = _of_last_searches(rows)
    searches: dict[tuple[str, str], list[Row]] = {}
    for row in kept:
        searches.setdefault((row.federation, row.method), []).append(row)
    why = {
        at: _not_comparable(mine, searches.get((at[0], ALONE), [])) for at, mine in searches.items()
    }
    latest: list[Row] = []
    reported: set[tuple[str, str]] = set()
    for row in kept:
        at = row.federation, row.method
        if not why[at]:
            latest.append(row)
        elif at not in reported:
            reported.add(at)
            latest.append(
                row.model_copy(
                    update={"missing": why[at], "mean": None, "budgets": (), "clients": {}}
                )
            )
    return latest


def superseded(rows: Sequence[Row]) -> int:
    """How many rows are of searches that a later one of the same method took the place of.

    Args:
        rows: In the order in which they were written.

    Returns:
        The number of rows that no table shows.
    """
    return len(rows) - len(_of_last_searches(rows))


def _of_last_searches(rows: Sequence[Row]) -> list[Row]:
    last = {(row.federation, row.method): row.case for row in rows}
    return [row for row in rows if row.case == last[row.federation, row.method]]


def _not_comparable(mine: Sequence[Row], alone: Sequence[Row]) -> str:
    """Why a search does not stand beside that of local; "" where it does."""
    own, others = ([row for row in rows if row.content] for rows in (mine, alone))
    if not others or all(row.missing for row in own):  # which says why itself
        return ""
    if {_setting(row) for row in own} != {_setting(row) for row in others}:
        return OTHER_SETTING
    one, other = _protocol(own), _protocol(others)
    for what in _Protocol._fields:
        value, expected = getattr(one, what), getattr(other, what)
        if value != expected and ((value and expected) or what != "rounds"):
            return (
                f"its rows have other {what} than those of local ({_shown(value)}, not "
                f"{_shown(expected)}): run it again"
            )
    return _other_trials(own[0], others[0])


def _protocol(rows: Sequence[Row]) -> _Protocol:
    equal = frozenset(row.rounds for row in rows if "rounds" in row.budgets and not row.missing)
    rates = frozenset(str(one.hyper.get("lr")) for row in rows for one in row.trials)
    return _Protocol(equal, frozenset(row.seed for row in rows), rates)


def _other_trials(own: Row, alone: Row) -> str:
    """A method has as many trials as its suite says, or all that it has to try: never fewer than
    local, which tries rates alone.
    """
    suites = own.trials_allowed, alone.trials_allowed
    if all(suites) and suites[0] != suites[1]:
        number, expected = suites
    elif len(own.trials) < len(alone.trials):
        number, expected = len(own.trials), len(alone.trials)
    else:
        return ""
    return f"its search had {number} trials where that of local had {expected}: run it again"


def _shown(values: frozenset[Any]) -> str:
    return some([str(value) for value in sorted(values, key=str)]) if values else "none"


def _setting(row: Row) -> str:
    """Stands for the data and the specification without what a search chooses."""
    content: dict[str, Any] = {key: row.content[key] for key in row.content if key != "method"}
    for section, names in CHOSEN.items():
        chosen = content.get(section, {})
        if isinstance(chosen, dict):  # a stranger's row may hold anything
            content[section] = {name: chosen[name] for name in chosen if name not in names}
    return digest([row.data_digest, settled(content)])
