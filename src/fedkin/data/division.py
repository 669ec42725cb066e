"""Who has which rows of a data set, and which of them are a public set's."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from fedkin.core.rng import Key
from fedkin.data.arrays import Array, Ints
from fedkin.data.partitions.registry import Partition
from fedkin.data.public import Drawn, Public, draw
from fedkin.data.source import Source


class Divided(NamedTuple):
    """Who has which rows."""

    part: Partition
    indices: list[Ints]  # rows of the source, by client
    drawn: Drawn | None  # the public set, whose rows no client has
    held_out: Ints | None = None  # clients that it must not be of, where there are any


def public_first(
    source: Source,
    public: Public | None,
    rows: Ints,
    key: Key,
    groups: Array | None,
    divide: Callable[[Ints], Partition],
) -> Divided:
    """A public set is drawn before anybody has rows.

    Args:
        source: All samples.
        public: What public samples are drawn, and from where; None: there is none.
        rows: Of the source, to be divided [n].
        key: Names the random stream of the public set.
        groups: Of each sample of the source, which stay together; None: each is by itself.
        divide: Rows → which of them each client has.

    Returns:
        Each client's rows, and the public set.
    """
    drawn = None if public is None else draw(public, source, rows, key, group=groups)
    rows = rows if drawn is None else drawn.rows
    part = divide(rows)
    return Divided(part, [rows[mine] for mine in part.indices], drawn)


def public_last(
    source: Source,
    public: Public,
    rows: Ints,
    key: Key,
    groups: Array | None,
    divide: Callable[[Ints], Partition],
    hold_out: Callable[[Sequence[Ints]], Ints],
) -> Divided:
    """Rows of clients that are held out must not be in a public set: who they are is known once all
    rows are divided.

    Args:
        source: All samples.
        public: What public samples are drawn, and from where.
        rows: Of the source, to be divided [n].
        key: Names the random stream of the public set.
        groups: Of each sample of the source, which stay together; None: each is by itself.
        divide: Rows → which of them each client has.
        hold_out: Rows by client → the clients that are held out.

    Returns:
        Each client's rows, and the public set.
    """
    part = divide(rows)
    indices = [rows[mine] for mine in part.indices]
    held_out = hold_out(indices)
    never = np.concatenate([indices[client] for client in held_out])
    drawn = draw(public, source, rows, key, group=groups, never=never)
    private = [np.intersect1d(mine, drawn.rows, assume_unique=True) for mine in indices]
    return Divided(part, private, drawn, held_out)
