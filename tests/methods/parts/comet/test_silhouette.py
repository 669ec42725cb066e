"""The silhouette of a clustering."""

import numpy as np
import pytest
import torch

from fedkin.core.rng import Key
from fedkin.methods.parts.comet.silhouette import by_silhouette, distances, silhouette


@pytest.mark.certifies("comet", "closed form")
def test_silhouette_by_hand():
    """Points 0, 2 | 10, 14 on a line: a, b = (2, 12), (2, 10), (4, 9), (4, 13); a lone point counts
    0.
    """
    points = torch.tensor([[0.0], [2.0], [10.0], [14.0]])
    told = silhouette(distances(points), torch.tensor([0, 0, 1, 1]))
    assert told == pytest.approx((10 / 12 + 8 / 10 + 5 / 9 + 9 / 13) / 4)
    alone = silhouette(
        distances(points), torch.tensor([0, 0, 1, 2])
    )  # b of 10 and 14: alone, 0; of 0: 10; of 2: 8
    assert alone == pytest.approx((8 / 10 + 6 / 8 + 0 + 0) / 4)
    assert silhouette(distances(points), torch.zeros(4, dtype=torch.int64)) == 0.0
    assert silhouette(distances(torch.ones(4, 2)), torch.tensor([0, 0, 1, 1])) == 0.0


def test_at_most_half_as_many_clusters_as_points():
    # of 3 clusters, two pairs and one alone, the mean silhouette is 0.79; of 2, at most 0.58
    points = torch.tensor([[0.0], [0.1], [10.0], [10.1], [30.0]])
    assert silhouette(distances(points), torch.tensor([0, 0, 1, 1, 2])) > 0.7
    assert len(by_silhouette(points, 5, Key(0)).labels.unique()) == 2


def test_silhouette_is_that_of_scikit_learn():
    from sklearn.metrics import silhouette_score

    rng = np.random.default_rng(0)
    points = torch.from_numpy(rng.normal(size=(30, 4, 3)))
    for clusters in (2, 5, 11):
        labels = rng.integers(clusters, size=30)
        expected = silhouette_score(points.reshape(30, -1).numpy(), labels)
        assert silhouette(distances(points), torch.from_numpy(labels)) == pytest.approx(expected)
