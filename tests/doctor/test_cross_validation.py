"""No row is predicted by a model that has seen it."""

import numpy as np

from fedkin.doctor.cross_validation import cross_validate
from fedkin.doctor.features import Rows


def test_a_row_is_never_predicted_by_a_model_that_has_seen_it() -> None:
    rng = np.random.default_rng(0)
    owner = np.repeat(np.arange(4), 30)
    x = np.concatenate([np.eye(120), np.ones((120, 1))], 1)  # every row has a number of its own
    rows = Rows((0, 1, 2, 3), owner, {"linear": x}, y := rng.normal(size=120), y[:, None])
    for scores in cross_validate(rows, 0, seeds=1).predicted.values():
        assert abs(np.corrcoef(scores[0, :, 0], y)[0, 1]) < 0.6  # who had seen it would know it
