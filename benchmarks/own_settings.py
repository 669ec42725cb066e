"""Which learning rate and which early stopping a run should begin with, on the cases of own data.

    FEDKIN_DATA=DIR python -m benchmarks.own_settings runs     # half an hour
    python -m benchmarks.own_settings table --write docs/defaults.md

``runs`` trains the method that a run begins with on every case of benchmarks/own_cases.py, one
setting changed at a time, and adds what is missing to own_settings.csv beside this file.
``table`` says, by kind of data, what each setting gains on validation rows over what a run begins
with, and what that comes to on test rows. ``--only WORD``: the cases whose name contains it.
"""

import argparse
import csv
import math
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.own_cases import CASES, Case
from benchmarks.own_truth import DEFAULT, add, options_of
from benchmarks.page import line_of, put

FOUND = Path(__file__).with_name("own_settings.csv")
COLUMNS = ("case", "kind", "setting", "measure", "rounds", "validation", "test")
BASE = "0.1, 30 rounds, patience 10"  # what a run begins with
SETTINGS: dict[str, dict[str, Any]] = {
    BASE: {},
    "learning rate 0.01": {"train.lr": 0.01},
    "learning rate 0.03": {"train.lr": 0.03},
    "learning rate 0.3": {"train.lr": 0.3},
    "learning rate 1": {"train.lr": 1.0},
    "patience 3": {"run.patience": 3},
    "patience 5": {"run.patience": 5},
    "no patience": {"run.patience": None},
    "100 rounds": {"run.rounds": 100},
}
BEGUN = {"train.lr": 0.1, "run.rounds": 30, "run.patience": 10}
WORTH = 0.5  # of a gain, to be counted
LOWER = {"rmse"}


class Found(NamedTuple):
    """A row of own_settings.csv; validation and test are means over clients."""

    case: str
    kind: str
    setting: str
    measure: str
    rounds: int
    validation: float
    test: float


def main() -> None:
    asked = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    asked.add_argument("what", choices=("runs", "table"))
    asked.add_argument("--write", type=Path, help="the page whose table is renewed")
    asked.add_argument("--only", default="")
    given = asked.parse_args()
    if given.what == "runs":
        with tempfile.TemporaryDirectory(prefix="fedkin-settings-") as folder:
            _runs([case for case in CASES if given.only in case.name], Path(folder))
        return
    text = table(known())
    if given.write is None:
        print(text)
    else:
        put(given.write, "settings", text)


def _runs(cases: list[Case], folder: Path) -> None:
    done = {(row.case, row.setting) for row in known()}
    for case in cases:
        for setting, changed in SETTINGS.items():
            fixed = changed.keys() & case.options.keys()  # COMET's toy has a rate of its own
            if (case.name, setting) in done or fixed:
                continue
            began = time.perf_counter()
            row = _run(case, setting, changed, folder)
            add(FOUND, COLUMNS, row)
            print(*row, f"{time.perf_counter() - began:.1f} s", flush=True)


def _run(case: Case, setting: str, changed: dict[str, Any], folder: Path) -> Found:
    from fedkin import Experiment, run
    from fedkin.core.errors import FedkinError
    from fedkin.report.comparison.run_row import read_run

    asked = {**BEGUN, **options_of(case, 0, folder), **changed}
    options = {key: value for key, value in asked.items() if value is not None}
    engine = {"engine": "inprocess", "engine.compile": "trace"}
    with tempfile.TemporaryDirectory(dir=folder) as where:
        try:
            result = run(Experiment(DEFAULT, **options, **engine), Path(where) / "run")
        except FedkinError as error:
            print(f"{case.name}, {setting}: {error}", flush=True)
            return Found(case.name, kind_of(case), setting, "", 0, math.nan, math.nan)
        seen = read_run(result.folder, "")
        rounds = int(result.summary["rounds"])
    test = float(np.nanmean(list(seen.personal.values())))
    validation = float(seen.validation or math.nan)
    return Found(case.name, kind_of(case), setting, seen.measure, rounds, validation, test)


def kind_of(case: Case) -> str:
    """ "table" or "picture"."""
    data = case.options["data"]
    pictures = ("digits", "mnist", "fashion_mnist", "cifar10", "femnist", "{path}/")
    return "picture" if data in pictures else "table"


def known() -> list[Found]:
    """What was measured."""
    if not FOUND.exists():
        return []
    numbers: tuple[Callable[[str], Any], ...] = (str, str, str, str, int, float, float)
    with FOUND.open(newline="") as file:
        return [
            Found(*(read(row[name]) for read, name in zip(numbers, COLUMNS, strict=True)))
            for row in csv.DictReader(file)
        ]


def table(rows: list[Found]) -> str:
    """By kind of data and setting: what it gains over what a run begins with, in points; of an
    RMSE, in percent of it.
    """
    by = {(row.case, row.setting): row for row in rows}
    lines = []
    for kind in ("table", "picture"):
        for setting in SETTINGS:
            pairs = [
                (by[row.case, BASE], row)
                for row in rows
                if row.kind == kind and row.setting == setting and (row.case, BASE) in by
            ]
            if pairs:
                lines.append(line_of([kind, setting, str(len(pairs)), *_cells(pairs)]))
    head = line_of(
        [
            "data",
            "setting",
            "cases",
            "diverged",
            "validation",
            "better",
            "worse",
            "test",
            "least",
            "rounds",
        ]
    )
    return "\n".join([head, "|---|---|" + "---:|" * 8, *lines])


def _cells(pairs: list[tuple[Found, Found]]) -> list[str]:
    """Cells of a row; what diverged is counted, and is in no mean."""
    ended = [(base, row) for base, row in pairs if not math.isnan(row.validation)]
    validation = [_gain(base, row, "validation") for base, row in ended]
    test = [_gain(base, row, "test") for base, row in ended]
    gains = [
        f"{np.mean(validation):+.1f}",
        str(sum(gain > WORTH for gain in validation)),
        str(sum(gain < -WORTH for gain in validation)),
        f"{np.mean(test):+.1f}",
        f"{min(test):+.1f}",
    ]
    begun = all(row is base for base, row in pairs)
    return [
        str(len(pairs) - len(ended)),
        *([""] * len(gains) if begun else gains),
        f"{np.mean([row.rounds for _, row in ended]):.0f}",
    ]


def _gain(base: Found, row: Found, what: str) -> float:
    before, now = getattr(base, what), getattr(row, what)
    if base.measure in LOWER:
        return float(100 * (before - now) / before)
    return float(100 * (now - before))


if __name__ == "__main__":
    main()
