"""Which rows of a newcomer train, choose and test."""

from pathlib import Path

import numpy as np

from fedkin.core.errors import FedkinError, many
from fedkin.core.rng import Key
from fedkin.data.arrays import Array, Ints
from fedkin.data.formats.frames import Read
from fedkin.data.holdout import Fractions, holdout
from fedkin.data.population import SPLITS
from fedkin.data.tables.gaps import gap_sentence, gaps_of

SPLIT = "split"  # a column that says train, val or test


def parts_of(
    n: int,
    division: Array | None,
    group: Array | None,
    fractions: Fractions,
    key: Key,
    path: Path,
) -> list[Ints]:
    """Which of a newcomer's rows train, choose and test.

    Args:
        n: Rows.
        division: [n] "train", "val" or "test", where the file says so; None: the key draws.
        group: [n] numbers that rows which belong together share; None: each stands alone.
        fractions: How the run divides its clients' samples.
        key: Draws the parts.
        path: The file, for messages.

    Returns:
        Row numbers of train, val and test.

    Raises:
        FedkinError: There are too few rows, or the file's division is none.
    """
    if division is None:
        parts = len(SPLITS) if isinstance(fractions, str) else sum(share > 0 for share in fractions)
        have = n if group is None else len(np.unique(group))
        if have < parts:
            what = many(n, "row") if group is None else many(have, "group") + " of rows"
            raise FedkinError(
                f"{path} has {what}, and the run's split makes {parts} parts of them: bring "
                f"more, or a column {SPLIT!r} that says what each is for (train alone will do)"
            )
        rows = [np.arange(n, dtype=np.int64)]
        held = holdout(rows, key, fractions, group=group, names=[path.stem])
        return [held.train[0], held.val[0], held.test[0]]
    unexpected = sorted({str(part) for part in division} - set(SPLITS))
    if unexpected:
        raise FedkinError(
            f"{path}: column {SPLIT!r} holds {unexpected[0]!r}: it says train, val or test"
        )
    rows = [np.flatnonzero(division == part).astype(np.int64) for part in SPLITS]
    if not len(rows[0]):
        raise FedkinError(f"{path}: column {SPLIT!r} names no row train")
    return rows


def division_of(read: Read) -> Array:
    """What the column SPLIT says of each row.

    Args:
        read: A table that has it.

    Returns:
        [n] words.

    Raises:
        FedkinError: A cell is empty.
    """
    column = read.frame[SPLIT]
    if len(gaps := np.flatnonzero(gaps_of(column))):
        sentence = gap_sentence(column, gaps, read.place)
        raise FedkinError(f"{sentence}: it says train, val or test of every row")
    return column.astype(str).to_numpy(dtype=str)
