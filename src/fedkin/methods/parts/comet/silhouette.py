"""How many clusters points have, by their mean silhouette (Rousseeuw, 1987), from a key."""

import torch
from torch import Tensor

from fedkin.core.clustering import Clusters, kmeans
from fedkin.core.rng import Key

# "no substantial structure has been found" at or below (Kaufman & Rousseeuw 1990, table 4)
STRUCTURE = 0.25


def by_silhouette(points: Tensor, most: int, key: Key, starts: int = 1) -> Clusters:
    """k-means of ``points`` [n, …] with the k in 2 … min(most, ⌊n/2⌋) of highest mean silhouette
    (ties: the smaller k).

    One cluster has no silhouette; it is the answer where no k is above ``STRUCTURE``.

    Args:
        points: One a client: its predictions.
        most: The largest k.
        key: Names the random stream of the seedings.
        starts: Seedings for each k, of which the best counts.

    Returns:
        The clusters of that k.
    """
    tried = [kmeans(points, k, key, starts) for k in range(2, min(most, len(points) // 2) + 1)]
    if tried:
        apart = distances(points)
        scores = [silhouette(apart, found.labels) for found in tried]
        best = scores.index(max(scores))
        if scores[best] > STRUCTURE:
            return tried[best]
    return kmeans(points, 1, key)


def distances(points: Tensor) -> Tensor:
    """[n, n] Euclidean, float64, from differences: exactly 0 between equal points, as untrained
    clients predict.

    Args:
        points: [n, …].

    Returns:
        Symmetric, 0 on the diagonal.
    """
    from scipy.spatial.distance import cdist

    rows = points.reshape(len(points), -1).to(torch.float64).numpy()
    return torch.from_numpy(cdist(rows, rows))


def silhouette(apart: Tensor, labels: Tensor) -> float:
    """The mean over points of (b − a) / max(a, b): a, b the mean distances to the other points of
    the own and of the nearest other cluster. 0 for a point alone in its cluster, where a = b = 0,
    and where there is one cluster.

    Args:
        apart: [n, n] distances.
        labels: [n] clusters.

    Returns:
        In [−1, 1].
    """
    groups = torch.nn.functional.one_hot(labels).to(torch.float64)
    groups = groups[:, groups.sum(0) > 0]
    if groups.shape[1] == 1:
        return 0.0
    sizes, totals = (
        groups.sum(0),
        apart @ groups,
    )  # [k]; Σ distances of each point to each cluster [n, k]
    own, alone = groups.bool(), (groups @ sizes) == 1
    a = totals[own] / (groups @ sizes - 1).clamp_min(1)
    b = (totals / sizes).masked_fill(own, float("inf")).amin(1)
    width = torch.maximum(a, b)
    scores = ((b - a) / width.where(width > 0, torch.ones_like(width))).masked_fill(alone, 0.0)
    return float(scores.mean())
