"""Which methods, with their defaults, end below the better of local and fedavg on own data.

    python -m benchmarks.own_losses --write docs/own_data.md

It reads own_truth.csv, which ``python -m benchmarks.own_truth runs`` has written, and leaves out
the cases whose measure has no points (RMSE).
"""

import argparse
from pathlib import Path

import numpy as np

from benchmarks.own_cases import CASES, Case
from benchmarks.own_truth import known
from benchmarks.page import put

POINTS = 2.0  # of accuracy or AUC
SIMPLE = "local", "fedavg"


def measured() -> list[Case]:
    """The cases whose measure is an accuracy or an AUC, and that have runs."""
    measures = {name: of["local"].measure for (name, _), of in known().items()}
    return [case for case in CASES if measures.get(case.name) in ("accuracy", "auc")]


def lost(case: Case) -> dict[str, float]:
    """{method: points below the better of local and fedavg} of the methods that lose more than two,
    most first: means over clients, then over seeds.
    """
    tests: dict[str, list[float]] = {}
    for (name, _), of in known().items():
        for method, one in of.items() if name == case.name else ():
            if len(one.test):  # it runs on such data
                tests.setdefault(method, []).append(100 * float(np.nanmean(one.test)))
    means = {method: float(np.mean(found)) for method, found in tests.items()}
    best = max(means[method] for method in SIMPLE)
    below = {method: best - mean for method, mean in means.items() if method not in SIMPLE}
    losing = {method: points for method, points in below.items() if points > POINTS}
    return dict(sorted(losing.items(), key=lambda item: -item[1]))


def table() -> str:
    """A row a case."""
    rows = ["| case | methods that lose more than two points |", "|---|---|"]
    for case in measured():
        cells = ", ".join(f"`{method}` {points:.1f}" for method, points in lost(case).items())
        rows.append(f"| {case.name} | {cells or 'none'} |")
    return "\n".join(rows)


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
