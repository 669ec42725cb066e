"""Looking for what is no number."""

import tracemalloc

import numpy as np
import pytest

from fedkin.data import finite
from fedkin.data.finite import first_not_finite


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("row", [0, 6, 7, 8, 19, 20])
def test_the_first_bad_row_is_found_in_any_block(row, bad, monkeypatch):
    monkeypatch.setattr(finite, "BLOCK", 7 * 6)
    x = np.zeros((21, 2, 3), dtype=np.float32)
    x[row, 1, 2] = bad
    x[20, 0, 0] = bad
    assert first_not_finite(x) == row
    assert first_not_finite(x.reshape(21, -1)) == row


@pytest.mark.parametrize(
    "x", [np.zeros((3, 0)), np.zeros((0, 3)), np.zeros((4, 5)), np.ones(4, np.uint8)]
)
def test_nothing_bad_is_none(x):
    assert first_not_finite(x) is None


def test_one_row_may_be_larger_than_a_block(monkeypatch):
    monkeypatch.setattr(finite, "BLOCK", 4)
    assert first_not_finite(np.array([[0.0] * 9, [0.0] * 8 + [np.nan]])) == 1


def test_a_large_table_is_not_copied():
    x = np.zeros((1 << 16, 256), dtype=np.float32)
    tracemalloc.start()
    assert first_not_finite(x) is None
    highest = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert highest < x.nbytes / 16
