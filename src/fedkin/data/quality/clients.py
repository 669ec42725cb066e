"""What is wrong with clients: none named, too small to train or to be judged, one class only, a
class that is missing altogether.
"""

from collections.abc import Sequence

import numpy as np

from fedkin.core.errors import many, some
from fedkin.data.arrays import Ints
from fedkin.data.holdout import FEWEST
from fedkin.data.quality.labels import MANY
from fedkin.data.quality.problem import Problem
from fedkin.data.source import Source
from fedkin.data.tables.client_column import likely_clients
from fedkin.data.tables.similar_names import folded

JUDGED = 5  # test samples, below which one of them moves a client's score by more than 20 points
TEST = 0.2  # share of the rows that are test rows by default
SMALL = round(JUDGED / TEST)
NAMED = 2  # classes that are named of a client that lacks them; of more, their number
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
    small = np.flatnonzero(sizes < FEWEST)
    hard = np.flatnonzero((sizes >= FEWEST) & (sizes < SMALL))
    problems = []
    if len(names) == 1:
        says = f"all rows belong to one client, {names[0]!r}"
        problems.append(Problem("one client", says, "there is no one to learn from", share=1.0))
    if len(small):
        problems.append(_too_small(names, small))
    if len(hard):
        problems.append(_hard_to_judge(names, hard, len(names) - len(small) - len(hard)))
    if table is not None:
        single = np.flatnonzero(np.count_nonzero(table, axis=1) == 1)
        if len(single):
            problems.append(_of_one_class(names, single))
        if source.classes <= MANY:  # of more, that some are missing is the rule
            problems += _without_a_class(source, names, table)
    return problems


def _too_small(names: Sequence[str], which: Ints) -> Problem:
    """Clients that have fewer samples than splits."""
    says = (
        f"{len(which)} of {len(names)} clients have fewer than {FEWEST} samples, too few for "
        f"train, validation and test ({_those(names, which)})"
    )
    left = len(which) < len(names)
    why = "a run refuses them; leave them out" if left else "a run refuses them, and all are so"
    fix = {"split.empty": "drop"} if left else {}
    return Problem(SMALL_CLIENT, says, why, fix, len(which) / len(names))


def _hard_to_judge(names: Sequence[str], which: Ints, left: int) -> Problem:
    """Clients that can train, and have too few test samples for a score; ``left``: how many clients
    have enough.
    """
    says = (
        f"{len(which)} of {len(names)} clients have fewer than {SMALL} samples, so fewer than "
        f"{JUDGED} to test on ({_those(names, which)})"
    )
    why = "one sample moves their score by 20 points and more; " + (
        "leave them out, or do not judge by them" if left else "judge by the mean over all of them"
    )
    fix = {"split.least": SMALL} if left else {}
    share = len(which) / len(names)
    return Problem("client hard to judge", says, why, fix, share, sure=False)


def _of_one_class(names: Sequence[str], which: Ints) -> Problem:
    says = f"{len(which)} of {len(names)} clients hold one class only ({_those(names, which)})"
    share = len(which) / len(names)
    return Problem("one class", says, "any guess of it is right there", share=share)


def _without_a_class(source: Source, names: Sequence[str], table: Ints) -> list[Problem]:
    """Clients that hold two classes or more, and none of a class that others hold. A class that is
    rare everywhere does not count, and spellings of one class are one.
    """
    first: dict[str, str] = {}  # a class in all its spellings → as it is spelled first
    held: dict[str, Ints] = {}
    for name, column in zip(source.class_names or map(str, range(source.classes)), table.T):
        shown = first.setdefault(folded(name), name)
        held[shown] = held.get(shown, 0) + column
    enough = {name: column for name, column in held.items() if column.sum() >= FEWEST}
    each = []
    for k, client in enumerate(names):
        absent = [name for name, column in enough.items() if not column[k]]
        if not absent or np.count_nonzero(table[k]) == 1:
            continue
        few = len(absent) <= NAMED
        lost = f"no {' or '.join(map(repr, absent))}" if few else f"none of {len(absent)} classes"
        each.append(f"{client}: {lost}")
    if not each:
        return []
    lack = many(len(each), "client has", "clients have")
    says = f"{lack} no sample at all of some class ({some(each)})"
    why = "a model trained there alone never predicts it, and no score there tells of it"
    return [Problem("absent class", says, why, share=len(each) / len(names))]


def _those(names: Sequence[str], which: Ints) -> str:
    return some([names[int(k)] for k in which])


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
