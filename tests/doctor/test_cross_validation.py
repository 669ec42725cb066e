"""No row is predicted by a model that has seen it."""

import numpy as np

from fedkin.core.rng import Key
from fedkin.doctor.cross_validation import cross_validate
from fedkin.doctor.features import Rows, folds_of


def test_a_row_is_never_predicted_by_a_model_that_has_seen_it() -> None:
    rng = np.random.default_rng(0)
    owner = np.repeat(np.arange(4), 30)
    x = np.concatenate([np.eye(120), np.ones((120, 1))], 1)  # every row has a number of its own
    rows = Rows((0, 1, 2, 3), owner, {"linear": x}, y := rng.normal(size=120), y[:, None])
    found = cross_validate(rows, 0, seeds=1)
    assert found is not None
    for scores in (*found.predicted.values(), found.constant):
        assert abs(np.corrcoef(scores[0, :, 0], y)[0, 1]) < 0.6  # who had seen it would know it


def test_the_constant_is_the_mean_of_the_other_folds_of_the_client() -> None:
    owner, y = np.repeat([0, 1, 2], (7, 9, 1)), np.arange(17.0)
    rows = Rows((0, 1, 2), owner, {"linear": np.stack([y, np.ones(17)], 1)}, y, y[:, None])
    found = cross_validate(rows, 3, seeds=1)
    assert found is not None
    fold = folds_of(rows, 5, Key(3, 0).numpy("doctor folds"))
    for row in range(17):
        others = (owner == owner[row]) & (fold != fold[row])
        others = others if others.any() else fold != fold[row]  # the client of one row
        assert np.isclose(found.constant[0, row, 0], y[others].mean())


def test_a_fold_without_rows_chooses_nothing() -> None:
    """Two clients of three rows: their mean error on it would be none, which is no number."""
    owner, y = np.repeat([0, 1], 3), np.arange(6.0)
    x = np.stack([y, np.ones(6)], 1)
    rows = Rows((0, 1), owner, {"linear": x}, y, y[:, None])
    folds = [folds_of(rows, 5, Key(seed, 0).numpy("doctor folds")) for seed in range(8)]
    empty = [seed for seed, fold in enumerate(folds) if len(np.unique(fold)) < 5]
    assert 0 < len(empty) < 8
    for seed in range(8):
        found = cross_validate(rows, seed, seeds=1)
        assert (found is None) == (seed in empty)
        assert found is None or all(np.isfinite(one).all() for one in found.predicted.values())
