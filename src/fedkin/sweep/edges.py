"""Values at the end of what a search was given: the best one may lie beyond."""

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple


class Edge(NamedTuple):
    """A key whose best value is the smallest or the largest of its list."""

    key: str
    value: float
    end: Literal["smallest", "largest"]


def edges(lists: dict[str, Sequence[Any]], best: Sequence[dict[str, Any]]) -> list[Edge]:
    """The keys of which only values at one end of their list share the first rank.

    Args:
        lists: {key: the values that were given}.
        best: The values of all trials that share the first rank, at least one.

    Returns:
        One a key; none for a list of one, for what is no number, and for a smallest value of 0, or
        of 1 among whole numbers, below which there is most often nothing.
    """
    found = []
    for key, values in lists.items():
        if len(set(map(str, values))) < 2 or not all(map(_is_number, values)):
            continue
        low, high = min(values), max(values)
        chosen = {trial[key] for trial in best}
        if chosen == {high}:
            found.append(Edge(key, high, "largest"))
        elif chosen == {low} and low > (1 if all(isinstance(v, int) for v in values) else 0):
            found.append(Edge(key, low, "smallest"))
    return found


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
