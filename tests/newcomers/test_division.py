"""Which rows of a newcomer train, choose and test."""

from pathlib import Path

import numpy as np
import pytest

from fedkin.core.errors import FedkinError
from fedkin.core.rng import Key
from fedkin.newcomers.division import parts_of

PATH = Path("mine.npz")


def test_a_file_that_divides_its_rows_is_taken_at_its_word() -> None:
    division = np.array(["test", "train", "val", "train"])
    found = parts_of(4, division, None, (0.6, 0.2, 0.2), Key(0), PATH)
    assert [rows.tolist() for rows in found] == [[1, 3], [2], [0]]
    with pytest.raises(FedkinError, match="names no row train"):
        parts_of(1, division[:1], None, (0.6, 0.2, 0.2), Key(0), PATH)


def test_rows_that_belong_together_count_as_one() -> None:
    with pytest.raises(FedkinError, match=r"mine\.npz has 2 groups of rows, and the run's split"):
        parts_of(9, None, np.arange(9) % 2, (0.6, 0.2, 0.2), Key(0), PATH)
