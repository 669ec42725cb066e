"""The family of regressions on standardised labels."""

import torch

from fedkin.core.family import GAUSSIAN, standardised


def test_the_family_by_hand() -> None:
    """μ = 10, σ = 4: y = 18 is 2; output 1 means 14 and costs (1 − 2)² / 2, which is (14 − 18)² / 2
    / 16.
    """
    family, outputs, y = standardised(10.0, 4.0), torch.tensor([[1.0]]), torch.tensor([18.0])
    assert float(family.mean(outputs)) == 14
    assert float(family.nll(outputs, y)) == 0.5
    assert float(family.nll_of_mean(family.mean(outputs), y)) == 0.5
    assert family.unit * 0.5 == float(GAUSSIAN.nll_of_mean(family.mean(outputs), y)) == 8
