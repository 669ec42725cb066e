"""Which defaults follow the leaderboard's validation scores, by one rule: a table of docs/bench.md,
which benchmarks/leaderboard.py writes.

The rule: a default becomes the value that is the best in at least three federations, and in at
least twice as many as any other value that was tried there, the earlier default among them. A value
counts by the best that it reaches at the rates of the suite, which are the same for all values: a
search tries each at some rates alone. Equal scores count for nobody. Tried at equal rates
(benchmarks/default_trials.py) is what won so often in the searches. Left out is how many groups or
models there are, which is the data's, and what would take a part of a method away.
"""

import csv
import inspect
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.page import line_of
from fedkin.bench.row import Row
from fedkin.methods import METHODS
from fedkin.runs.spec import literal

FOUND = Path(__file__).with_name("default_trials.csv")
COLUMNS = ("suite", "setting", "method", "key", "value", "lr", "validation")
HEAD = [
    "method",
    "hyper-parameter",
    "default",
    "searches: how often chosen",
    "equal rates: how often best",
    "the default",
]
LEAST = 3  # federations
GROUPS = "how many there are is the data's"
LEFT_OUT = {  # hyper-parameters, and why no default follows validation
    "clusters": GROUPS,
    "models": GROUPS,
    "components": GROUPS,
    "hidden": "0 takes a part of the method away",
}
Key = tuple[str, str]  # method, hyper-parameter
# Defaults that follow the rule, as they were before
EARLIER: dict[Key, Any] = {
    ("fedcp", "lam"): 5.0,
    ("fedntd", "beta"): 1.0,
    ("fedrod", "gamma"): 1.0,
    ("fedtgp", "lam"): 10.0,
    ("fedu", "pull"): 0.1,
    ("pfedme", "lam"): 15.0,
}


class Trial(NamedTuple):
    """``validation``: mean accuracy of the clients' models; None where training diverged."""

    suite: str
    setting: str
    method: str
    key: str
    value: Any
    lr: float
    validation: float | None


def known() -> list[Trial]:
    """What was tried at equal rates."""
    with FOUND.open(encoding="utf-8", newline="") as file:
        return [
            Trial(
                suite=row["suite"],
                setting=row["setting"],
                method=row["method"],
                key=row["key"],
                value=literal(row["value"]),
                lr=float(row["lr"]),
                validation=float(row["validation"]) if row["validation"] else None,
            )
            for row in csv.DictReader(file)
        ]


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


def best(trials: Sequence[Trial]) -> dict[Key, Counter[Any]]:
    """In how many federations each value was the best, at the best of the same rates. A federation
    in which a value misses a rate is left out.
    """
    found: dict[Key, Counter[Any]] = defaultdict(Counter)
    federations: dict[tuple[str, ...], list[Trial]] = defaultdict(list)
    for trial in trials:
        federations[trial.suite, trial.setting, trial.method, trial.key].append(trial)
    for (_, _, *key), tried in federations.items():
        method, name = key
        rates: dict[Any, set[float]] = defaultdict(set)
        scores: dict[Any, float] = {}
        for one in tried:
            rates[one.value].add(one.lr)
            score = float("-inf") if one.validation is None else one.validation
            scores[one.value] = max(score, scores.get(one.value, score))
        if len(rates) < 2 or len({frozenset(at) for at in rates.values()}) > 1:
            continue  # not all of it is there
        found[method, name].update(dict.fromkeys(scores, 0))
        first = [value for value, score in scores.items() if score == max(scores.values())]
        if len(first) == 1:
            found[method, name][first[0]] += 1
    return found


def winner(wins: Counter[Any]) -> Any | None:
    """The value that the rule makes the default; None where none is far enough ahead."""
    (value, most), *others = wins.most_common()
    return value if most >= LEAST and all(most >= 2 * other for _, other in others) else None


def pointed_to(rows: list[Row]) -> list[Key]:
    """Where the searches chose another value than the earlier default so often that it is worth
    trying at equal rates.
    """
    return [
        key
        for key, wins in sorted(chosen(rows).items())
        if winner(wins) not in (None, EARLIER.get(key, default_of(key))) and key[1] not in LEFT_OUT
    ]


def default_of(key: Key) -> Any:
    """As the method is today."""
    method, name = key
    return inspect.signature(METHODS[method]).parameters[name].default


def table(rows: list[Row], trials: Sequence[Trial]) -> str:
    """A row for each hyper-parameter whose default the searches did not choose most often, or that
    follows the rule.
    """
    lines = [line_of(HEAD), "|" + "---|" * len(HEAD)]
    searched, equal = chosen(rows), best(trials)
    for key, wins in sorted(searched.items()):
        default = default_of(key)
        if key in EARLIER or wins[default] < max(wins.values()):
            here = equal.get(key, Counter())
            cells = [*key, str(default), _told(wins), _told(here), _verdict(key, here)]
            lines.append(line_of(cells))
    return "\n".join(lines) + "\n"


def _told(wins: Counter[Any]) -> str:
    return ", ".join(f"{value}: {wins[value]}" for value in sorted(wins))


def _verdict(key: Key, wins: Counter[Any]) -> str:
    """What the rule makes of it, and why."""
    if key[1] in LEFT_OUT:
        return "stays: " + LEFT_OUT[key[1]]
    if key in EARLIER:
        return f"follows validation; before: {EARLIER[key]}"
    if not wins:
        return "stays: searches chose no other often enough"
    if wins[default_of(key)] == max(wins.values()):
        alone = list(wins.values()).count(max(wins.values())) == 1
        return "is the best" if alone else "stays: as often best as another"
    return "stays: too thin evidence"
