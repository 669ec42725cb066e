"""How often the doctor's advice is wrong, on data sets whose answer is known.

    python -m benchmarks.verdicts                          # minutes: verdicts that are missing
    python -m benchmarks.verdicts --write docs/doctor.md   # the table of what is there

Each data set is drawn three times. Verdicts are added to verdicts.csv beside this file as they
come. To make them anew, after a change of the doctor, remove the file.
"""

import argparse
import csv
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.made_verdicts import SETS, Made
from benchmarks.own_truth import add
from benchmarks.page import line_of, put
from fedkin.doctor.verdict import examined, verdict

FOUND = Path(__file__).with_suffix(".csv")
SEEDS = 3
HEAD = [
    "data set",
    "federating",
    "advice",
    "wrong",
    "gain over alone (95 %)",
    "best way",
    "s",
]


class Verdict(NamedTuple):
    """``chance`` of being wrong, as the doctor states it; ``gain`` over training alone, between
    ``low`` and ``high`` (95 %).
    """

    name: str
    seed: int
    federate: bool
    chance: float
    gain: float
    low: float
    high: float
    way: str
    seconds: float


def known() -> list[Verdict]:
    """The verdicts that the file has."""
    if not FOUND.exists():
        return []
    with FOUND.open(encoding="utf-8", newline="") as file:
        return [
            Verdict(
                name=row["name"],
                seed=int(row["seed"]),
                federate=row["federate"] == "True",
                chance=float(row["chance"]),
                gain=float(row["gain"]),
                low=float(row["low"]),
                high=float(row["high"]),
                way=row["way"],
                seconds=float(row["seconds"]),
            )
            for row in csv.DictReader(file)
        ]


def judged(made: Made, seed: int) -> Verdict:
    """What the doctor says of one draw of a data set."""
    population = made.make(seed)
    began = time.perf_counter()
    found = examined(population, made.measure, seed)
    assert found is not None
    told = verdict(found)
    return Verdict(
        name=made.name,
        seed=seed,
        federate=told["federate"],
        chance=round(told["wrong"], 4),
        gain=round(told["gain"], 5),
        low=round(told["low"], 5),
        high=round(told["high"], 5),
        way=max(found.chosen, key=lambda way: found.chosen[way]),
        seconds=round(time.perf_counter() - began, 1),
    )


def table(verdicts: Sequence[Verdict]) -> str:
    """A row for each data set, of all its draws; the count of wrong verdicts below."""
    lines, wrong = [line_of(HEAD), "|---|---|---|---|---|---|---:|"], 0
    for made in SETS:
        of = [one for one in verdicts if one.name == made.name]
        if of:
            missed = sum(one.federate != made.helps for one in of)
            wrong += missed
            lines.append(_row(made, of, missed))
    share = 100 * wrong / max(len(verdicts), 1)
    return "\n".join([*lines, "", f"{wrong} of {len(verdicts)} verdicts are wrong: {share:.1f} %."])


def _row(made: Made, of: Sequence[Verdict], missed: int) -> str:
    gain, low, high = (np.mean([getattr(one, name) for one in of]) for name in Verdict._fields[4:7])
    return line_of(
        [
            made.name,
            "helps" if made.helps else "must not help",
            ", ".join("federate" if one.federate else "alone" for one in of),
            f"{missed} ({', '.join(f'{one.chance:.2f}' for one in of)})",
            f"{gain:+.3f} [{low:+.3f}, {high:+.3f}] {made.measure}",
            ", ".join(dict.fromkeys(one.way for one in of)),
            f"{np.mean([one.seconds for one in of]):.1f}",
        ]
    )


def main() -> None:
    asked = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    asked.add_argument("--write", type=Path, help="a page with a place for the table")
    options = asked.parse_args()
    if options.write:
        put(options.write, "verdicts", table(known()))
        return
    done = {(one.name, one.seed) for one in known()}
    for seed in range(SEEDS):
        for made in SETS:
            if (made.name, seed) not in done:
                one = judged(made, seed)
                add(FOUND, Verdict._fields, one)
                print(*one, flush=True)
    print(table(known()))


if __name__ == "__main__":
    main()
