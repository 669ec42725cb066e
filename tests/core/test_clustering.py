"""k-means and the matching of clusters, where the answer is known."""

import itertools

import torch

from fedkin.core.clustering import kmeans, match
from fedkin.core.rng import Key

POINTS = torch.tensor([[0.0, 1], [9, 9], [0, 3], [9, 12], [50, 0], [9, 9]])


def test_three_groups_have_the_means_of_their_members() -> None:
    found = kmeans(POINTS, 3, Key(5), starts=4)
    groups = {tuple((found.labels == k).nonzero().flatten().tolist()) for k in range(3)}
    assert groups == {(0, 2), (1, 3, 5), (4,)}
    for k in range(3):
        assert torch.allclose(found.centroids[k], POINTS[found.labels == k].mean(0))
    assert found.cost == 2 + 6  # (1 + 1) and (1 + 4 + 1)


def test_no_start_is_cheaper_than_the_best_of_several_and_a_key_decides() -> None:
    cost = [kmeans(POINTS, 3, Key(5), starts=n).cost for n in (1, 2, 6)]
    assert cost == sorted(cost, reverse=True)
    one, other = kmeans(POINTS, 2, Key(1, 2, 3)), kmeans(POINTS, 2, Key(1, 2, 3))
    assert torch.equal(one.labels, other.labels)


def test_more_clusters_than_points_and_equal_points() -> None:
    assert len(kmeans(POINTS[:2], 5, Key(0)).centroids) == 2
    same = kmeans(torch.ones(4, 2, 3), 2, Key(0))
    assert same.centroids.shape == (2, 2, 3)
    assert same.cost == 0


def test_new_clusters_get_the_old_ones_that_cost_least_in_total() -> None:
    new, old = POINTS[[0, 3, 4]], POINTS[[4, 1, 2, 5]] + 0.4
    chosen = match(new, old)
    cost = torch.cdist(new, old).square()
    best = min(
        sum(float(cost[i, k]) for i, k in enumerate(p)) for p in itertools.permutations(range(4), 3)
    )
    assert abs(sum(float(cost[i, k]) for i, k in enumerate(chosen)) - best) < 1e-4
    assert len(set(chosen)) == 3
