"""What a person waits for: seconds of commands on a small table, each a process of its own.

    python -m benchmarks.waits [--rows 2000] [--sites 20] [--repeat 3] [--only run,compare]

The table is made up: 12 numbers a row, and a label whose rule differs a little from site to site.
Of each command the medians of wall-clock and of processor seconds; the first call, which fills
caches, is not counted.
"""

import argparse
import csv
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

COLUMNS, ROUNDS = 12, 30


def table(path: Path, rows: int, sites: int) -> None:
    """A CSV file: site, x0 … x11, label; in no order."""
    rng = np.random.default_rng(0)
    site = rng.integers(sites, size=rows)
    x = rng.normal(size=(rows, COLUMNS)) + 0.3 * rng.normal(size=(sites, COLUMNS))[site]
    rule = rng.normal(size=COLUMNS) + 0.5 * rng.normal(size=(sites, COLUMNS))
    label = (x * rule[site]).sum(1) + rng.normal(size=rows) > 0
    with path.open("w", newline="") as file:
        out = csv.writer(file)
        out.writerow(["site", *(f"x{number}" for number in range(COLUMNS)), "label"])
        for at in range(rows):
            cells = (f"{value:.3f}" for value in x[at])
            out.writerow([f"s{site[at]}", *cells, "yes" if label[at] else "no"])


def commands(sites: str) -> dict[str, list[str]]:
    """By the name that ``--only`` has, in the order in which they can be called."""
    data = ["--data", f"{sites}:client=site,label=label"]
    rounds = ["--rounds", str(ROUNDS)]
    return {
        "run": ["run", *data, *rounds, "--out", "{new}"],
        "local": ["run", *data, *rounds, "--method", "local", "--out", "{new}"],
        "methods": ["methods"],
        "data": ["data"],
        "show": ["show", "run-0"],
        "compare": ["compare", "run-0", "local-0"],
        "report": ["report", "run-0"],
        "doctor": ["doctor", *data],
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=2_000)
    parser.add_argument("--sites", type=int, default=20)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--only", help="names of commands; else all of them")
    given = parser.parse_args()
    print("| command | s | processor s |")
    print("|---|---|---|")
    with tempfile.TemporaryDirectory() as aside:
        folder = Path(aside)
        table(folder / "sites.csv", given.rows, given.sites)
        chosen = given.only.split(",") if given.only else None
        for name, words in commands("sites.csv").items():
            asked = chosen is None or name in chosen
            times = given.repeat + 1 if asked else int(name in ("run", "local"))
            spent = [
                seconds([word.replace("{new}", f"{name}-{at}") for word in words], folder)
                for at in range(times)
            ]
            if asked:
                wall, processor = np.median(spent[1:], axis=0)
                print(f"| `fedkin {name}` | {wall:.2f} | {processor:.2f} |", flush=True)


def seconds(words: list[str], folder: Path) -> tuple[float, float]:
    """(by the clock, of the processor) of one command."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    command = [sys.executable, "-m", "fedkin", *words]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    wall = time.perf_counter() - began
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


if __name__ == "__main__":
    main()
