"""FedPAC's mixtures of heads."""

import numpy as np
import pytest
import torch

from fedkin.methods.parts.alignment import best_mixture
from tests.methods.federation import (
    agree,
)
from tests.reference import fedpac as reference


def told(h, variance):
    tensor = torch.tensor(h, dtype=torch.float64)[None]
    spread = torch.tensor([variance], dtype=torch.float64)
    return {"centroids": {"reference": tensor}, "coefficients": {"variance": spread}}


@pytest.mark.certifies("fedpac", "reference")
@pytest.mark.parametrize("seed", range(4))
def test_mixtures_at_the_edge_of_the_simplex(seed):
    """Six clients, three numbers each: who is on the other side counts nothing."""
    rng = np.random.default_rng(seed)
    h, variances = 3.0 * rng.normal(size=(6, 3)), rng.uniform(0.01, 0.5, size=6)
    shares = []
    for place in range(6):
        found = best_mixture([told(row, v) for row, v in zip(h, variances, strict=True)], place)
        agree("fedpac", found, list(reference.mixture(list(h), variances, place)))
        shares += found
    assert min(shares) == 0.0


@pytest.mark.certifies("fedpac", "law")
def test_clients_that_are_alike_count_by_their_variances():
    """Equal h: α_j is proportional to 1/V_j."""
    found = best_mixture([told([1.0, 2.0], v) for v in (0.5, 0.25, 2.0)], 1)
    assert found == pytest.approx([2 / 6.5, 4 / 6.5, 0.5 / 6.5])


@pytest.mark.certifies("fedpac", "law")
def test_a_client_that_is_far_away_counts_nothing():
    """Between h_i = 0 and one at distance a on one axis: α of the other is V / (V + V' + a²)."""
    found = best_mixture([told([0.0, 0.0], 0.5), told([3.0, 0.0], 0.25)], 0)
    assert found[1] == pytest.approx(0.5 / (0.5 + 0.25 + 9.0))
    far = best_mixture([told([0.0, 0.0], 0.0), told([3.0, 0.0], 0.25)], 0)
    assert far == pytest.approx([1.0, 0.0])
