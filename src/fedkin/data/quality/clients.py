"""What is wrong with clients: none named, too small to train or to be judged, one class only."""

from collections.abc import Sequence

import numpy as np

from fedkin.core.errors import many, some
from fedkin.data.arrays import Ints
from fedkin.data.holdout import FEWEST
from fedkin.data.quality.problem import Problem
from fedkin.data.source import Source
from fedkin.data.tables.client_column import likely_clients

JUDGED = 5  # test samples, below which one of them moves a client's score by more than 20 points
TEST = 0.2  # share of the rows that are test rows by default
SMALL = round(JUDGED / TEST)
SMALL_CLIENT = "small client"  # the kind of fault that ends a run, unless [split] empty drops it


def client_problems(
    source: Source, names: Sequence[str], sizes: Ints | None, table: Ints | None
) -> list[Problem]:
    """The faults of clients; ``sizes`` [clients], ``table`` [clients, classes] or None where there
    are none.

    Args:
        source: The data as they were read.
        names: Of the clients.
        sizes: [clients] samples.
        table: [clients, classes] samples.

    Returns:
        One problem for each kind of fault.
    """
    if sizes is None:
        return [_nobody(source)]
    found = []
    if len(names) == 1:
        says = f"all rows belong to one client, {names[0]!r}"
        found.append(Problem("one client", says, "there is no one to learn from", share=1.0))
    small = np.flatnonzero(sizes < FEWEST)
    few = np.flatnonzero((sizes >= FEWEST) & (sizes < SMALL))
    which = (
        f"{len(small)} of {len(names)} clients have fewer than {FEWEST} samples, too few "
        "for train, validation and"
    )
    if len(small):
        says = f"{which} test ({some([names[int(k)] for k in small])})"
        left = len(small) < len(names)
        why = "a run refuses them; leave them out" if left else "a run refuses them, and all are so"
        fix = {"split.empty": "drop"} if left else {}
        found.append(Problem(SMALL_CLIENT, says, why, fix, len(small) / len(names)))
    if len(few):
        says = (
            f"{len(few)} of {len(names)} clients have fewer than {SMALL} samples, so fewer "
            f"than {JUDGED} to test on "
            f"({some([names[int(k)] for k in few])})"
        )
        why = (
            "one sample moves their score by 20 points and more; leave them out, or do not "
            "judge by them"
        )
        found.append(
            Problem(
                "client hard to judge",
                says,
                why,
                {"split.least": SMALL},
                len(few) / len(names),
                sure=False,
            )
        )
    one = (
        np.flatnonzero(np.count_nonzero(table, axis=1) == 1)
        if table is not None
        else np.empty(0, dtype=np.int64)
    )
    if len(one):
        says = (
            f"{len(one)} of {len(names)} clients hold one class only "
            f"({some([names[int(k)] for k in one])})"
        )
        found.append(
            Problem(
                "one class", says, "any guess of it is right there", share=len(one) / len(names)
            )
        )
    return found


def _nobody(source: Source) -> Problem:
    likely = likely_clients(source)
    if not likely:
        how = (
            "name their column with data.client, or let --split divide the rows"
            if source.columns
            else ""
        )
        return Problem("no clients", "no clients are named", how or "let --split divide the rows")
    name, values = next(iter(likely.items()))
    says = f"no clients are named, and column {name!r} looks like it ({many(values, 'value')})"
    return Problem(
        "no clients",
        says,
        "take it, or let --split divide the rows",
        {"data.client": name},
        None,
        (name,),
    )
