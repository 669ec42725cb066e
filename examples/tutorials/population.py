"""Who is like whom? PPFL's memberships, beside groups that are known because the data were divided
so.
"""

from pathlib import Path

import numpy as np
import pandas as pd

from fedkin import Experiment, Result, run
from fedkin.setup.loaded_run import load

GROUPS = [
    [0, 1, 2],
    [3, 4, 5],
    [6, 7],
    [8, 9],
]  # a client holds digits of one group only; PPFL does not know it


def memberships(result: Result) -> pd.DataFrame:
    """A row a client: its shares of the canonical models, which sum to 1, at the end of the run."""
    last = result.notes.query("name == 'membership'").groupby("client").last()
    return pd.DataFrame(np.stack(last["value"].map(np.asarray)), index=last.index)


def main(folder: Path = Path("runs/population"), rounds: int = 60) -> pd.DataFrame:
    """The mean membership of each group, and the group's part of clients that lean to the group's
    favourite model.
    """
    experiment = Experiment(
        "ppfl",
        data="digits",
        split="label_groups",
        clients=24,
        rounds=rounds,
        lr=0.1,
        epochs=1,
        engine="inprocess",
        **{"split.groups": GROUPS, "method.models": 4},
    )
    shares = memberships(run(experiment, folder))
    group = load(folder)[1].population.truth["group"]
    table = shares.groupby(group).mean().round(2)
    table["together"] = (
        shares.idxmax(axis=1).groupby(group).agg(lambda best: (best == best.mode()[0]).mean())
    )
    print(table.to_string())
    return table


if __name__ == "__main__":
    main()
