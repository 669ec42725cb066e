"""Memberships as points."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from fedkin.report.charts.memberships import corners, membership_figures, spread
from fedkin.report.matrix import Stack


def test_points_that_coincide_are_seen_apart() -> None:
    points = spread(np.zeros((50, 2)))
    apart = np.linalg.norm(points[:, None] - points[None], axis=2)[~np.eye(50, dtype=bool)]
    assert apart.min() > 0.015
    assert np.abs(points).max() < 0.2
    np.testing.assert_allclose(np.linalg.norm(corners(5), axis=1), 1)


@pytest.mark.parametrize(
    ("parts", "names"),
    [
        (1, ["membership", "components"]),  # one component has no simplex
        (2, ["simplex", "memberships", "membership", "components"]),
    ],
)
def test_the_simplex_needs_two_components(parts: int, names: list[str]) -> None:
    shares = np.full((3, 4, parts), 1 / parts)
    run: Any = SimpleNamespace(name=lambda client: f"c{client}")
    drawn = membership_figures(run, Stack([1, 2, 5], [7, 3, 9, 0], shares, 3))
    assert [figure.name for figure in drawn] == names


def test_the_names_of_corners_at_the_side_stand_above_their_clients() -> None:
    run: Any = SimpleNamespace(name=lambda client: f"c{client}")
    stack = Stack([1, 2], [7, 3], np.full((2, 2, 4), 0.25), 2)
    (simplex,) = [one for one in membership_figures(run, stack) if one.name == "simplex"]
    texts = [one["mark"] for one in simplex.spec["layer"] if one["mark"]["type"] == "text"]
    assert [mark["dy"] for mark in texts] == [{"expr": "abs(datum.y) < 0.3 ? -18 : 0"}]
