"""``python -m benchmarks.verdicts``: how often the doctor's advice is wrong, on data sets whose
answer is known.

``--seeds N``: each data set drawn N times. ``--only WORD``: those whose name contains it.
"""

import argparse
import time

import numpy as np

from benchmarks.made_verdicts import SETS, Made
from fedkin.doctor.verdict import examined, verdict


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--seeds", type=int, default=3)
    asked.add_argument("--only", default="")
    options = asked.parse_args()
    print("| data set | federating | advice | wrong | gain over alone (95 %) | best way | s |")
    print("|---|---|---|---|---|---|---:|")
    wrong, total = 0, 0
    for made in SETS:
        if options.only and options.only not in made.name:
            continue
        missed = _row(made, options.seeds)
        wrong, total = wrong + missed, total + options.seeds
    print(f"\n{wrong} of {total} verdicts are wrong: {100 * wrong / max(total, 1):.1f} %.")


def _row(made: Made, seeds: int) -> int:
    """Print one data set; the number of wrong verdicts."""
    told, spent, ways = [], 0.0, []
    for seed in range(seeds):
        population = made.make(seed)
        began = time.perf_counter()
        found = examined(population, made.measure, seed)
        assert found is not None
        told.append(verdict(found))
        spent += time.perf_counter() - began
        ways.append(max(found.chosen, key=lambda way: found.chosen[way]))
    wrong = sum(one["federate"] != made.helps for one in told)
    gain, low, high = (np.mean([one[name] for one in told]) for name in ("gain", "low", "high"))
    advice = ", ".join("federate" if one["federate"] else "alone" for one in told)
    truth = "helps" if made.helps else "must not help"
    chance = ", ".join(f"{one['wrong']:.2f}" for one in told)
    print(
        f"| {made.name} | {truth} | {advice} | {wrong} ({chance}) | {gain:+.3f} [{low:+.3f}, "
        f"{high:+.3f}] "
        f"{made.measure} | {', '.join(dict.fromkeys(ways))} | {spent / seeds:.1f} |",
        flush=True,
    )
    return wrong


if __name__ == "__main__":
    main()
