"""The decision tree of docs/choosing.md, with each method's gains from the leaderboard's rows.

python -m benchmarks.tree [--write docs/choosing.md]
"""

import argparse
import statistics
from pathlib import Path
from typing import NamedTuple

from benchmarks.leaderboard import at_equal_rounds, rows
from benchmarks.page import put
from fedkin.bench.latest_searches import latest_searches
from fedkin.bench.leaderboard.entries import Entry, times
from fedkin.bench.suite import SHARED

WIDTH = 23  # of what stands left of the numbers
COLUMNS = {  # federations whose measure is accuracy, one of a kind
    "digits": "small/digits-dirichlet",
    "HAR10": "small/har",
    "HAR30": "standard/har",
    "FEMN.": "standard/femnist",
    "Fa.D": "standard/fashion-mnist-dirichlet",
    "Fa.2": "standard/fashion-mnist-two-classes",
}
SAYS = {  # the doctor's words (docs/doctor.md), but for "alone", and what they mean
    "shared": "one model for all",
    "offset": "one model, and a constant of each client",
    "anchored": "own models near a shared one",
    "grouped": "a model for each group",
}
WAYS = {  # the doctor's own methods of each way, and others like them
    "shared": ("fedavg", "scaffold"),
    "offset": ("fedper",),
    "anchored": ("finetune", "ditto", "apfl", "pfedme", "fedala", "knn_per", "per_fedavg"),
    "grouped": ("ifca", "hypcluster"),
}
NONE = "·"  # no row


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
                    "yes: which way does the doctor name as best?",
                    (
                        *(
                            Branch(f"{way}: {says}", methods=WAYS[way])
                            for way, says in SAYS.items()
                        ),
                        Branch(
                            "any way, with every client in every round",
                            methods=("persfl",),
                        ),
                    ),
                ),
            ),
        ),
        Branch("yes, but nobody may lose: one of these with safe = true"),
    ),
)


def measured() -> dict[str, dict[str, Entry]]:
    """{column: {method: its means over seeds at equal rounds}}."""
    told = at_equal_rounds(latest_searches(rows()))
    return {
        column: {one.method: one for one in told if one.federation == federation}
        for column, federation in COLUMNS.items()
    }


def tree() -> list[str]:
    """The tree's lines; right of a method its gains on ``local`` and the clients hurt."""
    found = measured()
    head = " " * WIDTH + " ".join(f"{word:>6}" for word in COLUMNS) + "   hurt  comp."
    return [head, TREE.says, *_below(TREE, "", found)]


def numbers(method: str, found: dict[str, dict[str, Entry]]) -> str:
    """Points gained in each column; of those that have the method the mean share hurt, and what it
    computes beside fedavg.
    """
    there = [by.get(method) for by in found.values()]
    gains = [None if one is None else one.gain for one in there]
    shown = [NONE if gain is None else f"{100 * gain:+.1f}" for gain in gains]
    hurt = [one.hurt for one in there if one is not None and one.hurt is not None]
    share = f"{100 * statistics.mean(hurt):2.0f} %" if hurt else NONE
    own, shared = (
        {column: by[name] for column, by in found.items() if name in by}
        for name in (method, SHARED)
    )
    compute = times(own, shared, "flops")
    dear = NONE if compute is None else f"{compute:.1f} ×"
    return " ".join(f"{gain:>6}" for gain in shown) + f"   {share:>4} {dear:>6}"


def _below(branch: Branch, indent: str, found: dict[str, dict[str, Entry]]) -> list[str]:
    lines = []
    for place, one in enumerate(branch.then):
        last = place == len(branch.then) - 1
        lines.append(f"{indent}{'└─' if last else '├─'} {one.says}")
        under = indent + ("   " if last else "│  ")
        lines += [
            f"{under}   {method}".ljust(WIDTH) + numbers(method, found) for method in one.methods
        ]
        lines += _below(one, under, found)
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
