"""Which methods, with their defaults, end below the better of local and fedavg on own data.

    python -m benchmarks.own_losses --write docs/defaults.md

It reads own_truth.csv, which ``python -m benchmarks.own_truth runs`` has written, and leaves out
the cases whose measure has no points (RMSE). Methods with other hyper-parameters are left out, but
for what a run begins with.
"""

import argparse
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

import numpy as np

from benchmarks.own_cases import CASES, Case
from benchmarks.own_truth import DEFAULT, Run, known
from benchmarks.page import line_of, put
from fedkin.doctor.kinds import KINDS

POINTS = 2.0  # of accuracy or AUC
SIMPLE = "local", "fedavg"
NO_RUN, CANNOT, ONE_SEED = "·", "×", "¹"
SHORT = {  # heads of columns
    "patients, one concept": "one",
    "patients, rare outcome": "rare",
    "patients, two opposite groups": "two",
    "pictures, one concept": "pict.",
    "patients, own concepts": "own",
    "patients, outcomes by chance": "chance",
    "patients, 1,500 rows each": "1,500",
    "pictures, own names": "names",
    "digits, equal shares": "equal",
    "digits, Dirichlet 0.1": "Dir.",
    "digits, two shards": "shards",
    "MNIST, two classes": "MNIST",
    "Fashion-MNIST, two classes": "Fash.",
    "CIFAR-10, two classes": "CIFAR",
    "FEMNIST, 20 writers": "FEM.",
    "UCI HAR, 30 subjects": "HAR",
    "PPFL's mixture, 30 clients": "PPFL",
}


@cache
def all_runs() -> Mapping[tuple[str, int], Mapping[str, Run]]:
    """What own_truth.csv holds, read once: {(case, seed): {method: its run}}."""
    return known()


def measured() -> list[Case]:
    """The cases whose measure is an accuracy or an AUC, and that have runs."""
    measures = {name: of["local"].measure for (name, _), of in all_runs().items()}
    return [case for case in CASES if measures.get(case.name) in ("accuracy", "auc")]


def runs_of(case: Case) -> list[Mapping[str, Run]]:
    """{method: its run} of each seed."""
    return [of for (name, _), of in all_runs().items() if name == case.name]


def beside(runs: Sequence[Mapping[str, Run]]) -> dict[str, float]:
    """{method: points above the better of local and fedavg}, below 0 where it loses: means over
    clients, then over the seeds that the method has runs of; local and fedavg are of the same ones.
    """
    found = {}
    for method in sorted({method for of in runs for method in of} - set(SIMPLE)):
        with_it = [of for of in runs if method in of and len(of[method].test)]
        if with_it and (method == DEFAULT or ":" not in method):
            best = max(_mean(with_it, one) for one in SIMPLE)
            found[method] = _mean(with_it, method) - best
    return found


def _mean(runs: Sequence[Mapping[str, Run]], method: str) -> float:
    return float(np.mean([100 * np.nanmean(of[method].test) for of in runs]))


def lost(case: Case) -> dict[str, float]:
    """{method: points below} of the methods that lose more than two, most first."""
    below = {method: -points for method, points in beside(runs_of(case)).items()}
    losing = {method: points for method, points in below.items() if points > POINTS}
    return dict(sorted(losing.items(), key=lambda item: -item[1]))


def table() -> str:
    """A row a method, a column a case."""
    cases = measured()
    runs = {case.name: runs_of(case) for case in cases}
    points = {name: beside(of) for name, of in runs.items()}
    has = {method for of in runs.values() for one in of for method in one}
    rows = [
        line_of(["", *(SHORT[name] for name in runs)]),
        f"|---|{'---:|' * len(runs)}",
    ]
    for kind, methods in KINDS.items():
        shown = [m for m in (*methods, DEFAULT) if m in has - set(SIMPLE) and _is_of(m, methods)]
        if shown:
            rows.append(line_of([f"*{kind}*", *[""] * len(runs)]))
        for method in shown:
            cells = [_cell(method, points[name], of) for name, of in runs.items()]
            rows.append(line_of([f"`{method}`", *cells]))
    return "\n".join(rows)


def _is_of(method: str, kind: tuple[str, ...]) -> bool:
    return method.partition(":")[0] in kind


def _cell(method: str, points: dict[str, float], runs: Sequence[Mapping[str, Run]]) -> str:
    seeds = sum(method in of for of in runs)
    if method not in points:
        return CANNOT if seeds else NO_RUN
    told = f"{points[method]:+.1f}{ONE_SEED if seeds < len(runs) else ''}"
    return f"**{told}**" if points[method] < -POINTS else told


def main() -> None:
    asked = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    asked.add_argument("--write", type=Path, help="the page whose table is renewed")
    given = asked.parse_args()
    if given.write is None:
        print(table())
    else:
        put(given.write, "losses", table())


if __name__ == "__main__":
    main()
