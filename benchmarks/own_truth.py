"""How often the doctor is right on twenty cases of own data, and how good what it recommends is.

    FEDKIN_DATA=DIR python -m benchmarks.own_truth runs       # hours: what is true
    FEDKIN_DATA=DIR python -m benchmarks.own_truth verdicts   # minutes: the doctor's answers
    python -m benchmarks.own_truth defaults --write docs/defaults.md  # what a run begins with

``runs`` trains ten methods with their defaults on every case (benchmarks/own_cases.py), or those
that ``--methods`` names, and adds what is missing to own_truth.csv beside this file: a row a run,
with the experiment's measure of every client on its test rows. ``verdicts`` asks the doctor and
compares with the ten, whatever else was run. ``defaults`` puts the method that a run begins with
beside local and fedavg, from the same file. ``--only WORD``: the cases whose name contains it;
``--seeds N``, of which ``--after K`` leaves the first out.
"""

import argparse
import csv
import math
import tempfile
import time
import warnings
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.own_cases import CASES, Case
from benchmarks.page import put
from fedkin.runs.suggested import METHOD

TRUTH = Path(__file__).with_name("own_truth.csv")
COLUMNS = ("case", "seed", "method", "measure", "validation", "test")
ALONE = "local"
TEN = (
    ALONE,
    "fedavg",
    "finetune:keep=best,epochs=15",
    "ifca",
    "apfl",
    "ditto",
    "fedper",
    "scaffold",
    "persfl",
    "per_fedavg",
)
DEFAULT = f"{METHOD['name']}:keep={METHOD['keep']},epochs={METHOD['epochs']}"
SURE = 1.96  # standard errors
TRUTHS = {True: "helps", False: "must not help", None: "not measured"}
LEAST = 0.005  # of a gain worth having, as docs/doctor.md has it


class Run(NamedTuple):
    """``test``: of each client, nan where the measure is not defined."""

    measure: str
    validation: float
    test: NDArray[np.float64]


def main() -> None:
    asked = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    asked.add_argument("what", choices=("runs", "verdicts", "defaults"))
    asked.add_argument("--write", type=Path, help="the page whose table of defaults is renewed")
    asked.add_argument("--seeds", type=int, default=2)
    asked.add_argument("--after", type=int, default=0, help="of the seeds leave out so many")
    asked.add_argument("--only", default="")
    asked.add_argument("--methods", nargs="+", default=TEN)
    given = asked.parse_args()
    cases = [case for case in CASES if given.only in case.name]
    if given.what == "defaults":
        table = defaults(cases, range(given.after, given.seeds))
        if given.write is None:
            print(table)
        else:
            put(given.write, "defaults", table)
        return
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory(prefix="fedkin-cases-") as folder:
        if given.what == "runs":
            _all_runs(cases, range(given.after, given.seeds), Path(folder), list(given.methods))
        else:
            _all_verdicts(cases, range(given.after, given.seeds), Path(folder))


def options_of(case: Case, seed: int, folder: Path) -> dict[str, Any]:
    """Keywords of ``Experiment``; the case's file is written where it is not there yet."""
    if case.write is None:
        return {**case.options, "seed": seed}
    stem = f"case{CASES.index(case)}-{seed}"
    path = folder / (stem if case.options["data"].endswith("/") else f"{stem}.csv")
    if not path.exists():
        case.write(path, seed)
    return {**case.options, "data": case.options["data"].format(path=path), "seed": seed}


def defaults(cases: list[Case], seeds: range) -> str:
    """A table of what a run begins with, beside each client alone and one model for all."""
    done, shown = known(), (ALONE, "fedavg", DEFAULT)
    rows, behind = [], []
    for case in cases:
        of = [done[case.name, seed] for seed in seeds]
        means = [float(np.mean([np.nanmean(one[name].test) for one in of])) for name in shown]
        worst = min(_sign(of) * (means[2] - other) for other in means[:2])
        loses = all(_sign(of) * (means[2] - other) < 0 for other in means[:2])
        if loses:
            behind.append(f"{case.name} (by {min(abs(means[2] - m) for m in means[:2]):.3f})")
        cells = " | ".join(f"{mean:.3f}" for mean in means)
        rows.append(f"| {case.name} | {of[0][ALONE].measure} | {cells} | {worst:+.3f} |")
    head = f"| case | measure | `local` | `fedavg` | `{DEFAULT}` | on the better of the two |"
    said = "; ".join(behind) or "none"
    return "\n".join(
        [head, "|---|---|---:|---:|---:|---:|", *rows, "", f"Behind both in {len(behind)}: {said}."]
    )


def _all_runs(cases: list[Case], seeds: range, folder: Path, methods: list[str]) -> None:
    done = known()
    for seed in seeds:
        for case in cases:
            for method in methods:
                if method in done[case.name, seed]:
                    continue
                began = time.perf_counter()
                row = _run(case, seed, method, folder)
                add(TRUTH, COLUMNS, row)
                print(*row[:5], f"{time.perf_counter() - began:.1f} s", flush=True)


def add(path: Path, columns: Sequence[str], row: Sequence[Any]) -> None:
    """A row at the end of a CSV file, which begins with its columns."""
    with path.open("a", newline="") as file:
        out = csv.writer(file, lineterminator="\n")
        if not file.tell():
            out.writerow(columns)
        out.writerow(row)


def _run(case: Case, seed: int, method: str, folder: Path) -> tuple[Any, ...]:
    """A row of the truth; without numbers where the method cannot run on these data."""
    from fedkin import Experiment, run
    from fedkin.core.errors import FedkinError
    from fedkin.report.comparison.run_row import read_run

    engine = {"engine": "inprocess", "engine.compile": "trace", "run.evaluate_every": 10}
    settings = {**options_of(case, seed, folder), **engine}
    with tempfile.TemporaryDirectory(dir=folder) as where:
        try:
            result = run(Experiment(method, **settings), Path(where) / "run")
        except FedkinError as error:
            print(f"{case.name}, {method}: {error}", flush=True)
            return case.name, seed, method, "", "", ""
        seen = read_run(result.folder, "")
        clients = range(result.summary["clients"])
    test = " ".join(f"{seen.personal.get(k, math.nan):.5g}" for k in clients)
    return case.name, seed, method, seen.measure, f"{seen.validation:.5g}", test


def known() -> dict[tuple[str, int], dict[str, Run]]:
    """{(case, seed): {method: its run}}; a method that cannot run there has no clients."""
    found: dict[tuple[str, int], dict[str, Run]] = defaultdict(dict)
    if TRUTH.exists():
        with TRUTH.open(newline="") as file:
            for row in csv.DictReader(file):
                test = np.array(row["test"].split(), float)
                one = Run(row["measure"], float(row["validation"] or "nan"), test)
                found[row["case"], int(row["seed"])][row["method"]] = one
    return found


class Truth(NamedTuple):
    """``gain`` of the federated method with the best validation over local, with its ``error``;
    positive is better. ``best``: the method with the best test mean.
    """

    gain: float
    error: float
    worth: float
    best: str
    method: str

    @property
    def helps(self) -> bool:
        return self.gain > self.worth and self.gain > SURE * self.error


def truth_of(of: list[dict[str, Run]]) -> Truth:
    """From the runs of all seeds."""
    able = [m for m in TEN if all(m in one and len(one[m].test) for one in of)]
    sign = _sign(of)
    federated = [method for method in able if method != ALONE]
    chosen = max(federated, key=lambda m: sign * np.mean([one[m].validation for one in of]))
    gain, error = difference(of, chosen, ALONE)
    level = abs(float(np.mean([np.nanmean(one[ALONE].test) for one in of])))
    worth = LEAST if sign > 0 else 2 * LEAST * level
    best = max(able, key=lambda m: sign * np.mean([np.nanmean(one[m].test) for one in of]))
    return Truth(gain, error, worth, best, chosen)


def difference(of: list[dict[str, Run]], method: str, other: str) -> tuple[float, float]:
    """How much better the method is, over pairs of client and seed: mean and standard error."""
    apart = _sign(of) * np.concatenate([one[method].test - one[other].test for one in of])
    return float(apart[np.isfinite(apart)].mean()), _error(apart)


def error_of(of: list[dict[str, Run]], method: str) -> float:
    """Standard error of a method's mean over pairs of client and seed."""
    return _error(np.concatenate([one[method].test for one in of]))


def _error(values: NDArray[np.float64]) -> float:
    """Standard error of the mean of those that are finite."""
    known = values[np.isfinite(values)]
    return float(known.std(ddof=1) / math.sqrt(len(known))) if len(known) > 1 else math.inf


def _sign(of: list[dict[str, Run]]) -> float:
    from fedkin.core.measures import measure_named

    return 1.0 if measure_named(of[0][ALONE].measure).higher else -1.0


def _all_verdicts(cases: list[Case], seeds: range, folder: Path) -> None:
    from fedkin import Experiment

    done = known()
    right, judged = 0, 0
    near: list[tuple[bool, bool]] = []
    print("| case | truth | doctor | gain (95 %) | wrong | first to try |")
    print("|---|---|---|---|---|---|")
    for case in cases:
        of = [done[case.name, seed] for seed in seeds if len(done[case.name, seed]) > 1]
        found = truth_of(of) if of else None
        helps = found.helps if case.helps is None and found else case.helps
        told = Experiment(ALONE, **options_of(case, 0, folder)).doctor(rounds=0)
        verdict = told["verdict"]
        federate = verdict["federate"]
        first = told["candidates"][0]["method"] if federate else ALONE
        beside = "not measured"
        if found and all(first in one and set(TEN) <= one.keys() for one in of):
            gap, error = difference(of, found.best, first)
            own = error_of(of, found.best)
            near.append((gap <= own, gap <= error))
            beside = f"{-gap:+.3f} beside {found.best} (± {own:.3f}, paired ± {error:.3f})"
        judged, right = judged + (helps is not None), right + (federate == helps)
        print(
            f"| {case.name} | {TRUTHS[helps]} | {'federate' if federate else 'alone'}"
            f"{' **wrong**' if helps not in (None, federate) else ''} | {verdict['gain']:+.3f} "
            f"[{verdict['low']:+.3f}, {verdict['high']:+.3f}] {verdict['measure']} | "
            f"{verdict['wrong']:.2f} | {first}: {beside} |",
            flush=True,
        )
    print(f"\n{right} of {judged} verdicts are right, of those whose truth is known.")
    print(
        "What is recommended is within one standard error of the best of ten, by the error of the"
    )
    print(
        f"best one's mean in {sum(a for a, _ in near)} of {len(near)} cases, by that of the paired"
    )
    print(f"difference in {sum(b for _, b in near)}.")


if __name__ == "__main__":
    main()
