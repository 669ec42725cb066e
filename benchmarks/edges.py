"""How many methods chose the largest or the smallest learning rate of a federation's grid: a table
of docs/bench.md, which benchmarks/leaderboard.py writes.
"""

from collections.abc import Sequence

from benchmarks.page import line_of
from fedkin.bench.leaderboard.titles import titles_of
from fedkin.bench.row import Row
from fedkin.bench.suite import BASELINES
from fedkin.report import formatting

HEAD = ["federation", "rates tried", "methods", "chose the largest", "chose the smallest"]


def table(found: Sequence[Row]) -> str:
    """A row a federation. A search is of one method, and its choice the same under every seed."""
    titles = titles_of(found)
    lines = [line_of([*HEAD, *BASELINES]), "|" + "---|" * (len(HEAD) + len(BASELINES))]
    for federation in dict.fromkeys(row.federation for row in found):
        mine = [row for row in found if row.federation == federation and not row.missing]
        by_method = {row.method: row for row in mine if len(rates(row)) > 1}
        chosen = {name: row.hyper["lr"] for name, row in by_method.items()}
        tried = sorted({rate for row in by_method.values() for rate in rates(row)})
        largest = sum(chosen[name] == max(rates(row)) for name, row in by_method.items())
        smallest = sum(chosen[name] == min(rates(row)) for name, row in by_method.items())
        cells = [titles[federation], ", ".join(map(str, tried)), str(len(chosen))]
        cells += [str(largest), str(smallest)]
        cells += [str(chosen.get(name, formatting.NONE)) for name in BASELINES]
        lines.append(line_of(cells))
    return "\n".join(lines) + "\n"


def rates(row: Row) -> set[float]:
    """The learning rates among the trials of a row's search."""
    return {float(one.hyper["lr"]) for one in row.trials if "lr" in one.hyper}
