"""Equal rows have one number."""

import numpy as np

from fedkin.data.tables.duplicate_rows import same_rows


def test_equal_rows_have_one_number_whatever_their_type() -> None:
    rng = np.random.default_rng(0)
    for x in (
        rng.integers(0, 2, (400, 9), dtype=np.uint8),
        rng.integers(0, 2, (400, 9)).astype(np.float32),
        rng.integers(0, 2, (400, 9)) / 4 + 1.7e9,  # cells of a table: fractions count
    ):
        y = rng.integers(0, 2, 400)
        both = np.concatenate([x.astype(np.float64), y[:, None]], axis=1)
        expected = np.unique(both, axis=0, return_inverse=True)[1].ravel()
        pairs = np.unique(np.stack([same_rows(x, y), expected]), axis=1)
        assert pairs.shape[1] == len(np.unique(expected)) == len(np.unique(pairs[0]))


def test_minus_zero_is_zero() -> None:
    x = np.array([[0.0, 1.0], [-0.0, 1.0], [0.0, -1.0]])
    assert same_rows(x, np.array([0.0, -0.0, 0.0])).tolist() in ([0, 0, 1], [1, 1, 0])
    assert len(np.unique(same_rows(x.astype(np.float32), np.zeros(3)))) == 2
