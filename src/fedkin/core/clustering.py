"""k-means with k-means++ seeding, from a key: the same clusters on every machine with the same
library.
"""

import warnings
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from fedkin.core.rng import Key


class Clusters(NamedTuple):
    """labels [points] int64, and centroids [k, …] like the points."""

    labels: Tensor
    centroids: Tensor
    cost: float  # Σ squared distances to the nearest centroid


def kmeans(points: Tensor, k: int, key: Key, starts: int = 1) -> Clusters:
    """Lloyd's k-means on the rows of ``points`` [n, …], seeded by k-means++; the best of ``starts``
    seedings.

    Centroids are the means of their members. With fewer distinct points than k, the clusters are
    fewer in effect.

    Args:
        points: At least one row.
        k: How many clusters; at most as many as rows are made.
        key: All random draws are a function of it.
        starts: How many seedings are tried.

    Returns:
        Labels and centroids of the seeding with the least cost.
    """
    from sklearn.cluster import (  # imported late: half a second, and most methods need none
        KMeans,
        kmeans_plusplus,
    )
    from sklearn.exceptions import ConvergenceWarning
    from threadpoolctl import threadpool_limits

    flat = points.reshape(len(points), -1).to(torch.float64).numpy()
    k = min(k, len(flat))
    best: Clusters | None = None
    for start in range(starts):
        state = np.random.RandomState(key.integer(f"kmeans:{start}") % 2**32)
        # sums over threads change their last bits; equal points are no fault: untrained clients
        # predict alike
        with threadpool_limits(1), warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            seeds, _ = kmeans_plusplus(flat, k, random_state=state)
            found = KMeans(k, init=seeds, n_init=1, algorithm="lloyd", tol=0, max_iter=300).fit(
                flat
            )
        labels = torch.from_numpy(found.labels_.astype(np.int64))
        centroids = torch.stack(
            [_mean(points, labels, cluster, found.cluster_centers_) for cluster in range(k)]
        )
        result = Clusters(labels, centroids, float(found.inertia_))
        best = result if best is None or result.cost < best.cost else best
    assert best is not None
    return best


def _mean(points: Tensor, labels: Tensor, cluster: int, centers: Any) -> Tensor:
    members = points[labels == cluster]
    if len(members):
        return members.to(torch.float64).mean(0).to(points.dtype)
    return torch.from_numpy(centers[cluster]).reshape(points.shape[1:]).to(points.dtype)


def match(new: Tensor, old: Tensor) -> list[int]:
    """For each new centroid [k, d] the index of its old one [K, d], K ≥ k: the assignment of least
    total distance².

    Args:
        new: Centroids of this round.
        old: Those of the round before, at least as many.

    Returns:
        Indices into ``old``, each at most once.
    """
    from scipy.optimize import linear_sum_assignment

    distance = torch.cdist(new.to(torch.float64), old.to(torch.float64)).square().numpy()
    _, chosen = linear_sum_assignment(distance)
    return [int(index) for index in chosen]
