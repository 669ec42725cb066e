"""What the tables of the leaderboard stand on: entries at equal rounds by method, in the order of
their mean ranks.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from fedkin.bench.leaderboard.entries import BUDGETS, EQUAL_ROUNDS, Entry, entries
from fedkin.bench.leaderboard.ranking import mean_ranks
from fedkin.bench.leaderboard.titles import titles_of
from fedkin.bench.row import Row


class ByMethod(NamedTuple):
    """``federations``: {name: title}. ``scores``: by method, in the table's order, {federation:
    entry at equal rounds}. ``ranks``: {budget: {method: mean rank}} of the budgets that have any.
    """

    federations: Mapping[str, str]
    scores: Mapping[str, Mapping[str, Entry]]
    ranks: Mapping[str, Mapping[str, float]]

    @property
    def rank_heads(self) -> list[str]:
        """What the columns of mean ranks are called."""
        return [f"rank, equal {budget}" for budget in self.ranks]

    def rank_cells(self, method: str, none: str) -> list[str]:
        """What stands in these columns.

        Args:
            method: Its name.
            none: In the place of a rank that it does not have.

        Returns:
            A text a column.
        """
        return [f"{one[method]:.1f}" if method in one else none for one in self.ranks.values()]


def by_method(rows: Sequence[Row]) -> ByMethod:
    """Entries of each method, by mean rank at equal rounds; who has none, by how many federations
    it has and its score.

    Args:
        rows: Of each method's last search (``latest_searches``).

    Returns:
        Methods without an entry at equal rounds are in none.
    """
    every = entries(rows)
    board = [one for one in every if one.budget == EQUAL_ROUNDS]
    titles = titles_of(rows)
    by: dict[str, dict[str, Entry]] = {}
    for one in board:
        by.setdefault(one.method, {})[one.federation] = one
    ranks = {budget: mean_ranks(every, budget) for budget in BUDGETS}

    def place(name: str) -> tuple[float, int, float, str]:
        score = sum(one.score for one in by[name].values())
        return ranks[EQUAL_ROUNDS].get(name, 1e9), -len(by[name]), -score, name

    return ByMethod(
        federations={one.federation: titles[one.federation] for one in board},
        scores={name: by[name] for name in sorted(by, key=place)},
        ranks={budget: found for budget, found in ranks.items() if found},
    )
