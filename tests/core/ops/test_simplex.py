"""Steps on the simplex."""

import pytest
import torch

from fedkin.core.ops import simplex_step


def test_a_step_is_towards_what_costs_least_and_loses_nothing():
    c = torch.tensor([[0.2, 0.5, 0.3], [0.9, 0.05, 0.05]], dtype=torch.float64)
    slope = torch.tensor([[1.0, 0.0, 2.0], [40.0, 0.0, 3.0]], dtype=torch.float64)
    moved = simplex_step(c, slope, 0.7)
    by_hand = c * torch.exp(-0.7 * slope)
    by_hand = (by_hand / by_hand.sum(1, keepdim=True)).clamp_min(1e-6)
    torch.testing.assert_close(moved, by_hand / by_hand.sum(1, keepdim=True))
    assert moved.sum(1).tolist() == pytest.approx([1, 1])
    assert float(moved.min()) == pytest.approx(1e-6, rel=1e-5)


@pytest.mark.parametrize("floor", [1e-6, 0.05, 0.2])
def test_the_floor_is_that_of_before_the_division(floor):
    """Three of four entries are raised to it: then all are divided by their sum, 1 + 3 floor."""
    moved = simplex_step(torch.full((4,), 0.25).double(), torch.eye(4)[0].double(), -100.0, floor)
    assert moved[1:].tolist() == pytest.approx([floor / (1 + 3 * floor)] * 3)
    assert floor / (1 + 4 * floor) < float(moved.min()) < floor
