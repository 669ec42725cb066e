"""Which defaults follow the leaderboard's validation scores, by one rule: a table of docs/bench.md,
which benchmarks/leaderboard.py writes.

The rule: a default gives way to another value that is better in at least three federations, and in
at least twice as many as it is worse in. Where several values are so, the one that is the best in
most federations; where these tie, the one with the least mean regret. A value's regret in a
federation is how far it is below the best value there. It is of validation data alone, needs no
further trial, and counts what a user loses where a value is not the best.

A value counts by the best that it reaches at the rates of the suite, which are the same for all
values: a search tries each at some rates alone. Equal scores count for nobody. Tried at equal rates
(benchmarks/default_trials.py) is what searches chose in three federations or more, and more often
than the default. Left out is how many groups or models there are, which is the data's, and what
would take a part of a method away.
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
    "mean regret, points",
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
    ("fedprox", "mu"): 1.0,
    ("fedrod", "gamma"): 1.0,
    ("fedtgp", "lam"): 10.0,
    ("fedu", "pull"): 0.1,
    ("kt_pfl", "distill_steps"): 50,
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


def scores(trials: Sequence[Trial]) -> dict[Key, list[dict[Any, float]]]:
    """{value: its score} of each federation: the best that it reaches at the same rates. A
    federation in which a value misses a rate is left out.
    """
    federations: dict[tuple[str, ...], list[Trial]] = defaultdict(list)
    for trial in trials:
        federations[trial.suite, trial.setting, trial.method, trial.key].append(trial)
    found: dict[Key, list[dict[Any, float]]] = defaultdict(list)
    for (_, _, method, name), tried in federations.items():
        rates: dict[Any, set[float]] = defaultdict(set)
        reached: dict[Any, float] = {}
        for one in tried:
            rates[one.value].add(one.lr)
            score = float("-inf") if one.validation is None else one.validation
            reached[one.value] = max(score, reached.get(one.value, score))
        if len(rates) > 1 and len({frozenset(at) for at in rates.values()}) == 1:
            found[method, name].append(reached)
    return found


def best(federations: Sequence[dict[Any, float]]) -> Counter[Any]:
    """In how many federations each value was the best. Equal scores count for nobody."""
    found: Counter[Any] = Counter()
    for reached in federations:
        found.update(dict.fromkeys(reached, 0))
        first = [value for value, score in reached.items() if score == max(reached.values())]
        if len(first) == 1:
            found[first[0]] += 1
    return found


def regret(federations: Sequence[dict[Any, float]], value: Any) -> float:
    """How far a value is below the best one, a mean over federations; infinite if it diverged."""
    below = [max(reached.values()) - reached[value] for reached in federations]
    return sum(below) / len(below)


def better(federations: Sequence[dict[Any, float]], value: Any, other: Any) -> int:
    """In how many federations a value scored more than another."""
    return sum(reached[value] > reached[other] for reached in federations)


def ruled(federations: Sequence[dict[Any, float]], before: Any) -> Any:
    """The value that the rule makes the default, where ``before`` was one."""
    ahead = {
        value: better(federations, value, before)
        for value in federations[0]
        if better(federations, value, before) >= LEAST
    }
    able = [v for v, more in ahead.items() if more >= 2 * better(federations, before, v)]
    wins = best(federations)
    return min(able, key=lambda v: (-wins[v], regret(federations, v)), default=before)


def pointed_to(rows: list[Row]) -> list[Key]:
    """Where the searches chose another value more often than the earlier default, and so often that
    the rule may make it the default: it is worth trying at equal rates.
    """
    return [
        key
        for key, wins in sorted(chosen(rows).items())
        if max(wins.values()) >= max(LEAST, wins[before(key)] + 1) and key[1] not in LEFT_OUT
    ]


def before(key: Key) -> Any:
    """The default that the rule began with."""
    return EARLIER.get(key, default_of(key))


def default_of(key: Key) -> Any:
    """As the method is today."""
    method, name = key
    return inspect.signature(METHODS[method]).parameters[name].default


def table(rows: list[Row], trials: Sequence[Trial]) -> str:
    """A row for each hyper-parameter whose default the searches did not choose most often, or that
    follows the rule.
    """
    lines = [line_of(HEAD), "|" + "---|" * len(HEAD)]
    searched, equal = chosen(rows), scores(trials)
    for key, wins in sorted(searched.items()):
        if key in EARLIER or wins[default_of(key)] < max(wins.values()):
            here = equal.get(key, [])
            cells = [*key, str(default_of(key)), _told(wins), _told(best(here)), _regrets(here)]
            lines.append(line_of([*cells, _verdict(key, here)]))
    return "\n".join(lines) + "\n"


def _told(wins: Counter[Any]) -> str:
    return ", ".join(f"{value}: {wins[value]}" for value in sorted(wins))


def _regrets(federations: Sequence[dict[Any, float]]) -> str:
    """In points, of each value."""
    values = sorted(federations[0]) if federations else []
    return ", ".join(f"{value}: {100 * regret(federations, value):.1f}" for value in values)


def _verdict(key: Key, federations: Sequence[dict[Any, float]]) -> str:
    """What the rule makes of it, and why."""
    if key[1] in LEFT_OUT:
        return "stays: " + LEFT_OUT[key[1]]
    if key in EARLIER:
        return f"follows validation; before: {EARLIER[key]}"
    if not federations:
        return "stays: searches chose no other often enough"
    wins, default = best(federations), default_of(key)
    if wins[default] == max(wins.values()):
        alone = list(wins.values()).count(wins[default]) == 1
        return "is the best" if alone else "stays: as often best as another"
    return "stays: too thin evidence"
