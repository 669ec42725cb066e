"""Search from a coarse grid to a fine one."""

import pytest

from fedkin.methods.parts.coarse_to_fine import coarse_to_fine
from fedkin.methods.persfl import LAMBDAS, grid_of
from fedkin.methods.persfl import TEMPERATURES as TEMPERATURE_GRID


@pytest.mark.parametrize("best", [(0.0, 1.0), (0.35, 9.0), (1.0, 25.0), (0.55, 5.0)])
def test_coarse_to_fine_ends_at_the_best_of_a_smooth_grid(best):
    seen = []

    def measured(points):
        seen.extend(points)
        return points

    def far(point):
        t = 0 if point[0] == 0 else abs(point[1] - best[1]) / 24  # where λ = 0 T does not matter
        return abs(point[0] - best[0]) + t

    found = coarse_to_fine(
        measured, far, (LAMBDAS, TEMPERATURE_GRID), lambda at: at if at[0] > 0 else (0.0, 1.0)
    )
    assert min(found, key=far) == best
    assert sorted(found) == found
    assert len(found) == len(seen)
    assert len(set(seen)) == len(seen) <= 33 < len(grid_of(LAMBDAS, TEMPERATURE_GRID)) == 141
