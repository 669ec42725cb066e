"""A public set of the private pool takes rows from clients, but not from those held out."""

import numpy as np

from fedkin.core.rng import Key
from fedkin.data.division import public_first, public_last
from fedkin.data.partitions.registry import Partition
from fedkin.data.public import Public
from fedkin.data.source import Source

ROWS = np.arange(2, 92)  # not all of the source's
SOURCE = Source("toy", np.zeros((100, 2), np.float32), np.zeros(100, np.int64), 2)


def thirds(rows: np.ndarray) -> Partition:
    return Partition(list(np.array_split(np.arange(len(rows)), 3)), {})


def test_a_public_set_is_drawn_before_anybody_has_rows() -> None:
    found = public_first(SOURCE, Public(30), ROWS, Key(0), None, thirds)
    assert found.drawn is not None
    assert [len(mine) for mine in found.indices] == [20, 20, 20]
    private = np.concatenate(found.indices)
    assert np.isin(private, ROWS).all()
    assert np.array_equal(private, found.drawn.rows)
    assert len(found.drawn.x) == 30


def test_without_a_public_set_every_row_is_divided() -> None:
    found = public_first(SOURCE, None, ROWS, Key(0), None, thirds)
    assert found.drawn is None
    assert np.array_equal(np.concatenate(found.indices), ROWS)


def test_who_is_held_out_keeps_every_row() -> None:
    found = public_last(
        SOURCE, Public(30), ROWS, Key(0), None, thirds, lambda indices: np.array([1])
    )
    assert found.held_out is not None
    assert found.held_out.tolist() == [1]
    assert np.array_equal(found.indices[1], ROWS[30:60])
    assert len(found.indices[0]) + len(found.indices[2]) == 30
