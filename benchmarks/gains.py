"""What each method gained on `local`, from the tables of docs/results.md: the measured part of
docs/gains.md.

python -m benchmarks.gains [--write docs/gains.md]
"""

import argparse
import re
import statistics
from pathlib import Path

from benchmarks.page import END, renew
from fedkin.methods import METHODS

RESULTS = Path(__file__).resolve().parent.parent / "docs" / "results.md"
SETTINGS = {
    "har": "UCI HAR",
    "femnist": "FEMNIST",
    "shakespeare": "Shakespeare",
    "fmnist": "Fashion-MNIST",
}
HEAD = (
    f"| method | {' | '.join(SETTINGS.values())} | clients hurt |\n|{'---|' * (len(SETTINGS) + 2)}"
)


def table(setting: str) -> dict[str, list[str]]:
    """A table of docs/results.md: {method: its other cells}."""
    _, _, rest = RESULTS.read_text(encoding="utf-8").partition(f"<!-- methods-{setting} -->\n")
    lines = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in rest.partition(END)[0].splitlines()[2:]
    ]
    return {name: cells for name, *cells in lines}


def gains() -> list[str]:
    """A row a method, the largest mean gain first; "hurt" is the mean share of clients that are
    worse than alone.
    """
    tables = {setting: table(setting) for setting in SETTINGS}
    rows = {}
    for method in METHODS:
        if method == "local" or not all(method in found for found in tables.values()):
            continue
        by = [_mean(found[method]) - _mean(found["local"]) for found in tables.values()]
        hurt = statistics.mean(_hurt(found[method]) for found in tables.values())
        cells = [method, *(f"{gain:+.1f}" for gain in by), f"{hurt:.0f} %"]
        rows[f"| {' | '.join(cells)} |"] = statistics.mean(by)
    return sorted(rows, key=lambda row: -rows[row])


def _mean(cells: list[str]) -> float:
    return float(cells[0].split("±")[0])


def _hurt(cells: list[str]) -> float:
    found = re.search(r"(\d+)% worse", cells[3])
    assert found, cells
    return float(found[1])


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--write", type=Path, help="a page whose `<!-- gains -->` table is renewed")
    given = parser.parse_args()
    rows = gains()
    print(HEAD, *rows, sep="\n")
    if given.write:
        renew(given.write, "gains", HEAD, rows, [row.split("|")[1].strip() for row in rows])


if __name__ == "__main__":
    main()
