"""Sites that write other codes for the labels that the rest has."""

import numpy as np

from fedkin.core.errors import many, some
from fedkin.data.arrays import Ints, Mask
from fedkin.data.quality.labels import MANY
from fedkin.data.quality.problem import Problem
from fedkin.data.source import Source
from fedkin.data.tables.similar_names import folded

ALIKE = 2  # clients with common classes, from which on another one is the odd one


def disjoint_label_codes(source: Source) -> list[Problem]:
    """Clients that share no class with most of the others, and hold two classes or more: their
    labels may be the others' in other codes, 0 and 1 for home and readmitted.

    Clients of one class are reported elsewhere, and of many classes that some share none is the
    rule. Spellings of one class are one.

    Args:
        source: The data as they were read.

    Returns:
        At most one problem.
    """
    if source.client is None or not 4 <= source.classes <= MANY:
        return []
    names, owner = np.unique(source.client, return_inverse=True)
    held = np.zeros((len(names), source.classes), dtype=bool)
    held[owner, source.y] = True
    codes = source.class_names or tuple(map(str, range(source.classes)))
    group = _groups(held, codes)
    of_client = group[held.argmax(axis=1)]
    members = np.bincount(of_client, minlength=source.classes)
    usual = int(members.argmax())
    apart = np.flatnonzero((of_client != usual) & (held.sum(axis=1) > 1))
    if not len(apart) or 2 * members[usual] < len(names) or members[usual] < ALIKE:
        return []
    which = some([str(names[k]) for k in apart])
    rest = many(int(members[usual]), "client")
    verb = "shares" if len(apart) == 1 else "share"
    theirs = [codes[c] for c in np.flatnonzero(held[apart].any(axis=0))]
    says = f"{which} {verb} no class with {rest} whose codes are alike ({some(map(repr, theirs))})"
    why = "are these other codes for the same labels? Write them alike"
    share = len(apart) / len(names)
    return [Problem("codes of labels", says, why, share=share, sure=False)]


def _groups(held: Mask, names: tuple[str, ...]) -> Ints:
    """[classes] a number for each class, equal for those that some client holds together, directly
    or over others, and for spellings of one.
    """
    first: dict[str, int] = {}
    group = np.array([first.setdefault(folded(name), at) for at, name in enumerate(names)])
    for row in np.unique(held, axis=0):
        mine = np.unique(group[row])
        group[np.isin(group, mine)] = mine[0]
    return group
