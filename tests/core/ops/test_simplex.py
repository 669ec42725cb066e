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
