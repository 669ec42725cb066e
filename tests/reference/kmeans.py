"""Plain Lloyd iterations from given starting points, and the exact optimum by enumeration for tiny
sets.
"""

from collections.abc import Iterator, Sequence

import numpy as np


def squared_distances(points: np.ndarray, centroids: np.ndarray) -> np.ndarray:
    """[n, k] matrix of ||point_i - centroid_j||²."""
    out = np.zeros((len(points), len(centroids)))
    for i, point in enumerate(points):
        for j, centroid in enumerate(centroids):
            out[i, j] = np.sum((point - centroid) ** 2)
    return out


def nearest(points: np.ndarray, centroids: np.ndarray) -> np.ndarray:
    """Index of the nearest centroid of each point; a tie goes to the lowest index."""
    return np.argmin(squared_distances(points, centroids), axis=1)


def lloyd(
    points: np.ndarray, seeds: Sequence[int], limit: int = 10_000
) -> tuple[np.ndarray, np.ndarray, int]:
    """(centroids [k, D], assignment [n], updates of the centroids) of k-means started at
    points[seeds].

    Assign every point to its nearest centroid (ties: lowest index), move every centroid to the mean
    of its points, and stop when no assignment changes. A centroid without points stays where it
    was.
    """
    points = np.asarray(points, dtype=np.float64)
    centroids = np.array([points[seed] for seed in seeds])
    assignment = nearest(points, centroids)
    for updates in range(1, limit + 1):
        for j in range(len(centroids)):
            members = [points[i] for i in range(len(points)) if assignment[i] == j]
            if members:
                centroids[j] = np.mean(members, axis=0)
        moved = nearest(points, centroids)
        if np.array_equal(moved, assignment):
            return centroids, assignment, updates
        assignment = moved
    raise RuntimeError("k-means did not settle")


def partitions(n: int, k: int) -> Iterator[list[int]]:
    """Every partition of n points into exactly k non-empty clusters, as labels in order of first
    appearance.
    """

    def extend(labels: list[int], used: int) -> Iterator[list[int]]:
        if len(labels) == n:
            if used == k:
                yield labels
            return
        for label in range(min(used + 1, k)):
            yield from extend([*labels, label], max(used, label + 1))

    yield from extend([], 0)


def brute_force(points: np.ndarray, k: int) -> np.ndarray:
    """Centroids [k, D] of the partition of least inertia sum_i ||point_i - mean of its cluster||²
    (the first of equals).
    """
    points = np.asarray(points, dtype=np.float64)
    best, best_inertia = None, np.inf
    for labels in partitions(len(points), k):
        means = np.array(
            [
                np.mean([p for p, l in zip(points, labels, strict=True) if l == j], axis=0)
                for j in range(k)
            ]
        )
        inertia = sum(
            float(np.sum((p - means[l]) ** 2)) for p, l in zip(points, labels, strict=True)
        )
        if inertia < best_inertia - 1e-12:
            best, best_inertia = means, inertia
    if best is None:
        raise ValueError("fewer points than clusters")
    return best
