"""L2SGD's personal accuracy by the local steps that its rounds drew.

    python -m benchmarks.by_steps RUN [--last 100]

``RUN``: a finished run of l2sgd, evaluated in every round. A round ends with a geometric number k
of local steps, so the accuracy of one round is that of its k.
"""

import argparse
import math
from pathlib import Path

import pandas as pd

from fedkin.api import Result

GROUPS = (1, 2, 3, 5, 8, 13, math.inf)  # k from one of these to the next


def by_steps(folder: Path, last: int) -> pd.DataFrame:
    """The last rounds grouped by k: how many, and their accuracy in percent.

    Args:
        folder: A finished run of l2sgd.
        last: How many rounds are looked at, from the last one back.
    """
    result = Result(folder)
    notes, metrics = result.notes, result.metrics
    drawn = notes[notes["name"] == "next_steps"].set_index("round")["value"]
    personal = metrics[(metrics["view"] == "personal") & (metrics["split"] == "test")]
    scores = 100 * personal.groupby("round")["accuracy"].mean()
    ended = result.summary["rounds"]
    rounds = range(ended - last + 1, ended + 1)
    if not set(rounds) <= set(scores.index) or ended - last not in drawn.index:
        raise SystemExit(f"{folder}: the last {last} rounds were not all run and evaluated")
    # what a round draws is for the next one
    steps = [int(drawn[number - 1]) for number in rounds]
    group = pd.cut(steps, GROUPS, right=False)
    table = pd.DataFrame({"k": group, "accuracy": [scores[number] for number in rounds]})
    return table.groupby("k", observed=True)["accuracy"].agg(["count", "mean", "min", "max"])


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("run", type=Path, help="a finished run of l2sgd")
    parser.add_argument("--last", type=int, default=100, help="rounds, from the last one back")
    given = parser.parse_args()
    print(by_steps(given.run, given.last).round(2).to_string())


if __name__ == "__main__":
    main()
