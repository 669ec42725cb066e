"""The leaderboard as a table in LaTeX, for a paper."""

from collections.abc import Sequence

from fedkin.bench.latest_searches import latest_searches
from fedkin.bench.leaderboard.by_method import by_method
from fedkin.bench.leaderboard.entries import Entry
from fedkin.bench.row import Row
from fedkin.report import formatting
from fedkin.report.comparison.sheet import Sheet
from fedkin.report.latex import tables

CAPTION = (
    "scores at equal rounds, mean ± standard deviation over seeds; hyper-parameters were chosen "
    "on validation data"
)


def latex(rows: Sequence[Row], remarks: Sequence[str]) -> str:
    """One row a method: its mean rank under each budget, and its score by federation.

    Args:
        rows: Of any suites.
        remarks: What is said below the table, as comments.

    Returns:
        A floating table with the rules of booktabs.
    """
    found = by_method(latest_searches(rows))
    lines = [
        [
            name,
            *found.rank_cells(name, ""),
            *(_score(scores.get(federation)) for federation in found.federations),
        ]
        for name, scores in found.scores.items()
    ]
    sheet = Sheet(
        title="Personalized federated learning methods",
        columns=["method", *found.rank_heads, *found.federations.values()],
        rows=lines,
        texts=1,
        caption=CAPTION,
    )
    return tables([sheet], remarks)


def _score(entry: Entry | None) -> str:
    """Nothing of a method that has no rows there."""
    if entry is None:
        return formatting.NONE
    mean = formatting.value(entry.measure, entry.mean)
    return mean + formatting.half_width(entry.measure, entry.spread)
