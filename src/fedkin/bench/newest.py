"""Which rows of a file stand beside each other: a table that is only ever appended to may hold
several searches of one method, and settings that were changed since.
"""

from collections.abc import Sequence
from typing import Any

from fedkin.bench.row import Row
from fedkin.bench.suite import BASELINES, digest, settled

CHOSEN = {"train": ("lr",), "run": ("seed", "rounds", "evaluate_every")}  # by a search, or a budget
ELSEWHERE = "its rows are of another setting than those of local: run it again"


def newest(rows: Sequence[Row]) -> list[Row]:
    """The rows of each method's last search in its federation.

    Args:
        rows: In the order in which they were written.

    Returns:
        Those, in their order. Where a method's last search was on another setting than local's,
        one row that says so.
    """
    last = {(row.federation, row.method): row.case for row in rows}
    kept = [row for row in rows if row.case == last[row.federation, row.method]]
    alone = {
        row.federation: _setting(row) for row in kept if row.method == BASELINES[0] and row.content
    }
    found: list[Row] = []
    said: set[tuple[str, str]] = set()
    for row in kept:
        at = row.federation, row.method
        if not row.content or alone.get(row.federation, _setting(row)) == _setting(row):
            found.append(row)
        elif at not in said:
            said.add(at)
            found.append(
                row.model_copy(
                    update={"missing": ELSEWHERE, "mean": None, "budgets": (), "clients": {}}
                )
            )
    return found


def _setting(row: Row) -> str:
    """Stands for the data and the specification without what a search chooses."""
    content: dict[str, Any] = {key: row.content[key] for key in row.content if key != "method"}
    for section, names in CHOSEN.items():
        given = content.get(section, {})
        if isinstance(given, dict):  # a stranger's row may hold anything
            content[section] = {name: given[name] for name in given if name not in names}
    return digest([row.data_digest, settled(content)])
