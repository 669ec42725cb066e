"""Memberships as points."""

import numpy as np

from fedkin.report.charts.memberships import corners, spread


def test_points_that_coincide_are_seen_apart() -> None:
    points = spread(np.zeros((50, 2)))
    apart = np.linalg.norm(points[:, None] - points[None], axis=2)[~np.eye(50, dtype=bool)]
    assert apart.min() > 0.015
    assert np.abs(points).max() < 0.2
    np.testing.assert_allclose(np.linalg.norm(corners(5), axis=1), 1)
