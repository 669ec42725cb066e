"""The values of a hyper-parameter that the leaderboard's searches try, each at every learning rate.

    FEDKIN_DATA=DIR python -m benchmarks.default_trials [--suite small] [--settings har]
        [--only fedu fedcp]

A search has few trials: of two values it may try one at the rate that suits the data, and the other
beside it alone. So the trials that a search left out are made here, with its specification and seed
and with the default as another value, and all of them are added to default_trials.csv beside this
file. What committed rows tell, and what stands there already, is not run again.
"""

import argparse
import os
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.defaults import COLUMNS, FOUND, LEFT_OUT, before, known, pointed_to
from benchmarks.leaderboard import rows as committed
from benchmarks.own_truth import add
from fedkin.bench.latest_searches import latest_searches
from fedkin.bench.search import Hyper, content_of, search_of
from fedkin.bench.suite import Suite, suite
from fedkin.bench.trial import run_trial
from fedkin.core.errors import FedkinError
from fedkin.methods import METHODS


def values_of(method: str) -> tuple[str, dict[Any, Hyper]]:
    """The first hyper-parameter that its search varies, and {value: with what it is tried}, the
    default first, as it was before it followed the rule; "" where the search varies none.
    """
    own, fixed = search_of(method)
    if not own:
        return "", {}
    key = next(iter(own[0]))
    tried = [{key: before((method, key))}, *own]
    return key, {one[key]: {**fixed, **one} for one in tried}


def main() -> None:
    asked = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    asked.add_argument("--suite", default="small")
    asked.add_argument("--settings", nargs="+")
    asked.add_argument("--only", nargs="+", help="methods; else those that searches point to")
    given = asked.parse_args()
    warnings.simplefilter("ignore")
    whole = suite(given.suite)
    methods = given.only or [method for method, _ in pointed_to(latest_searches(committed()))]
    told = _told(given.suite)
    done = {one[:6] for one in known()} if FOUND.exists() else set()
    for label, method, key, value, lr in _grid(whole, given.settings, methods):
        at = given.suite, label, method, key, value, lr
        if at not in done:
            if at not in told:
                told[at] = _tried(whole, label, method, value, lr)
            score = told[at]
            row = (*at, "" if score is None else f"{score:.6g}")
            add(FOUND, COLUMNS, row)
            print(*row, flush=True)


def _grid(
    whole: Suite, settings: list[str] | None, methods: list[str]
) -> Iterator[tuple[str, str, str, Any, float]]:
    """(setting, method, key, value, rate) of every trial."""
    for method in methods:
        key, values = values_of(method)
        if key and key not in LEFT_OUT:
            for label in settings or whole.settings:
                for value in values:
                    yield from ((label, method, key, value, lr) for lr in whole.rates)


def _told(name: str) -> dict[tuple[Any, ...], float | None]:
    """The trials that committed rows tell of a suite."""
    found: dict[tuple[Any, ...], float | None] = {}
    for row in latest_searches(committed()):
        key = values_of(row.method)[0] if row.method in METHODS and row.suite == name else ""
        for trial in row.trials if key else ():
            at = name, row.setting, row.method, key, trial.hyper[key], trial.hyper["lr"]
            found[at] = trial.validation
    return found


def _tried(whole: Suite, label: str, method: str, value: Any, lr: float) -> float | None:
    """The validation score of a trial that no search made."""
    setting = whole.settings[label]
    content = content_of(setting.spec, method, lr, values_of(method)[1][value])
    last = {"seed": whole.seeds[0], "evaluate_every": setting.rounds}
    content = {**content, "run": {**content["run"], **last}}
    with tempfile.TemporaryDirectory(prefix="fedkin-trial-") as folder:
        try:
            return run_trial(
                content, Path(folder) / "run", os.environ.get("FEDKIN_DATA")
            ).validation
        except FedkinError as error:
            print(f"{label}, {method}: {error}", flush=True)
            return None


if __name__ == "__main__":
    main()
