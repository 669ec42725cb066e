"""What draws a client of COMET: the centroid nearest to its own predictions (equation 4), and how
strongly.
"""

from collections.abc import Mapping
from typing import NamedTuple

import torch
from torch import Tensor

from fedkin.core.clustering import Clusters
from fedkin.core.tree import Tree

# A squared distance a public row, where probabilities are 1 apart at most: clients that agree
NEGLIGIBLE = 1e-6


class Pull(NamedTuple):
    """What a client is drawn to, which is fixed during a round."""

    cluster: int  # the number of the nearest centroid
    centroid: Tensor  # s̄_k [public, classes]
    lam: float  # λ_k

    @property
    def kept(self) -> Mapping[str, float]:
        """What the client remembers of it."""
        return {"cluster": self.cluster, "lam": self.lam}


def nearest(centroids: Tensor, own: Tensor) -> int:
    """The centroid at the least ℓ2 distance from a client's predictions (equation 4).

    Args:
        centroids: [c, public, classes].
        own: The client's predictions [public, classes].

    Returns:
        Its number.
    """
    return int((centroids - own).square().sum((1, 2)).argmin())


def pull_of(received: Tree, own: Tensor, lam: float) -> Pull:
    """What a client is drawn to.

    Args:
        received: The message: ``centroids`` and, where λ_k falls with the distance, ``control``
            with ``spread``.
        own: The client's predictions s_k [public, classes].
        lam: λ.

    Returns:
        The nearest centroid, and λ_k.
    """
    cluster = nearest(received["centroids"], own)
    centroid = received["centroids"][cluster]
    if "control" not in received:
        return Pull(cluster, centroid, lam)
    distance = float((centroid - own).to(torch.float64).square().sum(1).mean())
    return Pull(cluster, centroid, shrunk(lam, distance, received["control"]["spread"]))


def shrunk(lam: float, distance: float, usual: float) -> float:
    """λ_k of a client at a squared distance from its centroid, where ``usual`` is the mean.

    λ · 2 usual / (usual + distance): λ at the usual distance, up to 2λ nearer by, towards 0 far
    off. In Theorem IV.7's linear regression λ_k* falls as 1 / υ_k², the client's variance around
    what all share; the distance estimates that.

    Args:
        lam: λ.
        distance: Squared, a mean over public rows.
        usual: The mean of that over clients.

    Returns:
        In (0, 2λ].
    """
    return lam * 2 * (usual + NEGLIGIBLE) / (usual + distance + 2 * NEGLIGIBLE)


def spread(clusters: Clusters, s: Tensor) -> float:
    """The mean squared distance of predictions from their centroid.

    Args:
        clusters: Of the predictions.
        s: The predictions [clients, public, classes].

    Returns:
        A mean over clients and public rows.
    """
    return clusters.cost / (len(s) * s.shape[1])
