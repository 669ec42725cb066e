"""What draws a client of COMET, by hand: the nearest centroid, and λ_k."""

import pytest
import torch

from fedkin.core.clustering import Clusters
from fedkin.methods.parts.comet.pull import nearest, pull_of, shrunk, spread

OWN = torch.tensor([[1.0, 0.0], [1.0, 0.0]])
CENTROIDS = torch.tensor(
    [[[0.5, 0.5], [0.5, 0.5]], [[1.0, 0.0], [0.0, 1.0]], [[0.9, 0.1], [0.4, 0.6]]]
)


@pytest.mark.certifies("comet", "closed form")
def test_nearest_by_hand():
    # Two classes, two public rows. Own predictions (1, 0), (1, 0). Squared distances: centroid 0:
    # 0.5 + 0.5 = 1 for (.5, .5) twice; centroid 1: 0 + 2 = 2 for (1, 0), (0, 1); centroid 2: 0.02 +
    # 0.72 = 0.74 for (.9, .1), (.4, .6).
    assert nearest(CENTROIDS, OWN) == 2
    # By the distance of the row sums, or of the last row alone, another one would win.
    assert nearest(CENTROIDS[:2], OWN) == 0


@pytest.mark.certifies("comet", "closed form")
def test_shrunk_by_hand():
    """λ at the usual distance, twice that at the centroid, half of it three times as far off; λ
    where all agree.
    """
    assert shrunk(2.0, 0.3, 0.3) == pytest.approx(2.0)
    assert shrunk(2.0, 0.0, 0.3) == pytest.approx(4.0, rel=1e-4)
    assert shrunk(2.0, 0.9, 0.3) == pytest.approx(1.0, rel=1e-4)
    assert shrunk(2.0, 0.0, 0.0) == pytest.approx(2.0)


def test_a_client_is_drawn_to_the_nearest_centroid():
    drawn = pull_of({"centroids": CENTROIDS}, OWN, 2.0)
    assert torch.equal(drawn.centroid, CENTROIDS[2])
    assert drawn.kept == {"cluster": 2, "lam": 2.0}


def test_its_own_strength_is_by_the_mean_over_public_rows():
    """The squared distance is 0.74 over two rows."""
    received = {"centroids": CENTROIDS, "control": {"spread": 0.37}}
    assert pull_of(received, OWN, 2.0).lam == pytest.approx(2.0)
    received["control"]["spread"] = 0.37 / 3
    assert pull_of(received, OWN, 2.0).lam == pytest.approx(1.0, rel=1e-4)


def test_the_spread_is_a_mean_over_clients_and_public_rows():
    clusters = Clusters(torch.zeros(3), CENTROIDS, 9.0)
    assert spread(clusters, torch.zeros(3, 2, 5)) == 1.5
