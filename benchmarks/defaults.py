"""What validation chose of each method's hyper-parameters in the leaderboard's searches, beside the
defaults: a table of docs/bench.md, which benchmarks/leaderboard.py writes.
"""

import inspect
from collections import Counter, defaultdict
from typing import Any

from benchmarks.page import line_of
from fedkin.bench.row import Row
from fedkin.methods import METHODS

HEAD = ["method", "hyper-parameter", "default", "tried: how often chosen"]
Key = tuple[str, str]  # method, hyper-parameter


def chosen(rows: list[Row]) -> dict[Key, Counter[Any]]:
    """How often each value that was tried had the best validation score. A search counts once,
    however many rows were run with what it chose.
    """
    found: dict[Key, Counter[Any]] = defaultdict(Counter)
    searches = {row.case: row for row in rows if row.method in METHODS and row.trials}
    for row in searches.values():
        tried = [trial.hyper for trial in row.trials]
        for key in (key for key in row.hyper if key != "lr"):
            values = {hyper[key] for hyper in tried if key in hyper}
            if len(values) > 1:
                found[row.method, key].update(dict.fromkeys(values, 0))
                found[row.method, key][row.hyper[key]] += 1
    return found


def table(rows: list[Row]) -> str:
    """A row for each hyper-parameter whose default was not chosen most often."""
    lines = [line_of(HEAD), "|" + "---|" * len(HEAD)]
    for (method, key), wins in sorted(chosen(rows).items()):
        default = inspect.signature(METHODS[method]).parameters[key].default
        if wins[default] < max(wins.values()):
            told = ", ".join(f"{value}: {wins[value]}" for value in sorted(wins))
            lines.append(line_of([method, key, str(default), told]))
    return "\n".join(lines) + "\n"
