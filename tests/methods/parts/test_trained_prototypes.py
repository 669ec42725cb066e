"""FedTGP's margin and contrast of known prototypes."""

import numpy as np
import pytest
import torch

from fedkin.methods.parts.trained_prototypes import contrast, margin_of


@pytest.mark.certifies("fedtgp", "closed form")
def test_the_margin_of_known_prototypes():
    """Q^0 = (0, 0) of clients 0 and 1, Q^1 = (3, 4) of client 1; nobody sent class 2."""
    sent = torch.tensor(
        [[[-1.0, 0.0], [50.0, 50.0], [9.0, 9.0]], [[1.0, 0.0], [3.0, 4.0], [9.0, 9.0]]],
        dtype=torch.float64,
    )
    has = torch.tensor([[True, False, False], [True, True, False]])
    assert margin_of(sent, has, 100.0) == pytest.approx(5.0)
    assert margin_of(sent, has, 2.5) == 2.5
    assert margin_of(sent[:1], has[:1], 100.0) == 0.0


@pytest.mark.certifies("fedtgp", "closed form")
def test_the_contrast_of_known_prototypes():
    """F = 0: all P̂ are the bias, at the distance 2: −log e^{−2−δ} / (e^{−2−δ} + 2 e^{−2})."""
    zero = torch.zeros(3, 2, dtype=torch.float64)
    w = {"raw": zero, "hidden.weight": zero[:2], "hidden.bias": zero[0]}
    w |= {"out.weight": zero[:2], "out.bias": torch.tensor([0.0, 2.0], dtype=torch.float64)}
    found = contrast(w, zero[:1], torch.tensor([1]), 0.7)
    assert float(found) == pytest.approx(-np.log(np.exp(-0.7) / (np.exp(-0.7) + 2)))
