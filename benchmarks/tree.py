"""The decision tree of docs/choosing.md, with each method's gains from benchmarks/gains.py.

python -m benchmarks.tree [--write docs/choosing.md]
"""

import argparse
from pathlib import Path
from typing import NamedTuple

from benchmarks.gains import gains
from benchmarks.page import put

WIDTH = 48  # of what stands left of the numbers
COLUMNS = ("HAR", "FEMN.", "Shak.", "Fash.")  # those of gains


class Branch(NamedTuple):
    """``says``: an answer, and the next question if ``then`` has branches. ``methods``: to try."""

    says: str
    then: tuple["Branch", ...] = ()
    methods: tuple[str, ...] = ()


TREE = Branch(
    "fedkin doctor DATA: does federating help?",
    (
        Branch("no, or it cannot be distinguished from chance: local"),
        Branch(
            "yes: may parameters leave, of one architecture?",
            (
                Branch(
                    "no: have public samples labels?",
                    (
                        Branch("yes", methods=("fedmd",)),
                        Branch("no", methods=("ds_fl", "kt_pfl", "comet")),
                    ),
                ),
                Branch(
                    "yes: which way is best (the doctor says)?",
                    (
                        Branch("one model for all", methods=("fedavg", "scaffold")),
                        Branch(
                            "own models near a shared one",
                            methods=("finetune", "ditto", "apfl"),
                        ),
                        Branch(
                            "the same, every client in every round",
                            methods=("persfl",),
                        ),
                        Branch("a model for each group", methods=("ifca", "hypcluster")),
                    ),
                ),
            ),
        ),
        Branch("yes, but nobody may lose: one of these with safe = true"),
    ),
)


def tree() -> list[str]:
    """The tree's lines; right of a method its gains on ``local`` and the clients hurt."""
    numbers = {}
    for row in gains():
        method, *by, hurt = (cell.strip() for cell in row.strip("|").split("|"))
        numbers[method] = " ".join(f"{gain:>6}" for gain in by) + f"   {hurt:>4}"
    head = " " * WIDTH + " ".join(f"{word:>6}" for word in COLUMNS) + "   hurt"
    return [head, TREE.says, *_below(TREE, "", numbers)]


def _below(branch: Branch, indent: str, numbers: dict[str, str]) -> list[str]:
    lines = []
    for place, one in enumerate(branch.then):
        last = place == len(branch.then) - 1
        lines.append(f"{indent}{'└─' if last else '├─'} {one.says}")
        under = indent + ("   " if last else "│  ")
        lines += [f"{under}   {method}".ljust(WIDTH) + numbers[method] for method in one.methods]
        lines += _below(one, under, numbers)
    return lines


def block() -> str:
    """What stands in the page."""
    return "\n".join(["```text", *tree(), "```"])


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--write", type=Path, help="a page whose `<!-- tree -->` block is renewed")
    given = parser.parse_args()
    print(*tree(), sep="\n")
    if given.write:
        put(given.write, "tree", block())


if __name__ == "__main__":
    main()
