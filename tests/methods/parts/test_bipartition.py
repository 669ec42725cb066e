"""The optimal bipartition of clustered FL beside every bipartition, and by hand."""

import numpy as np
import pytest
import torch

from fedkin.methods.parts.bipartition import bipartition
from tests.reference import clustered_fl as reference

pytestmark = pytest.mark.certifies("clustered_fl", "reference")


@pytest.mark.parametrize("members", [2, 3, 5, 8])
def test_single_linkage_is_the_optimal_bipartition(members):
    """The least largest similarity across, against every bipartition."""
    rng = np.random.default_rng(members)
    for _ in range(20):
        updates = rng.normal(size=(members, 4))
        one, _, cross = reference.best_bipartition(list(updates))
        halves = bipartition(torch.from_numpy(updates))
        assert [i for i, first in enumerate(halves.first) if first] == one
        assert halves.cross == pytest.approx(cross)


def test_bipartition_by_hand():
    """Directions 0°, 40°, 80°, 130° (a chain with gaps 40, 40, 50): cut at the widest gap, {0, 40,
    80} | {130}, with cos 50° across. Complete linkage would join 0 and 40, then 80 and 130: cos 40°
    across, which is more.
    """
    angles = np.deg2rad([0.0, 40.0, 80.0, 130.0])
    halves = bipartition(torch.tensor(np.stack([np.cos(angles), np.sin(angles)], 1)))
    assert halves.first == [True, True, True, False]
    assert halves.cross == pytest.approx(np.cos(np.deg2rad(50.0)))


def test_equal_updates_are_still_cut_in_two():
    halves = bipartition(torch.ones(4, 3, dtype=torch.float64))
    assert 0 < sum(halves.first) < 4
    assert halves.cross == pytest.approx(1.0)


def test_halves_are_told_by_row():
    halves = bipartition(torch.tensor([[1.0, 0.0], [-1.0, 0.1], [1.0, 0.1]]))
    assert (halves.half(first=True), halves.half(first=False)) == ([0, 2], [1])
