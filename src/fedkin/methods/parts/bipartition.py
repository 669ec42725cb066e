"""Clustered FL's optimal bipartition (Algorithm 2): a cluster in two, by the directions of its
members' updates.
"""

from typing import NamedTuple

import torch
from torch import Tensor


class Halves(NamedTuple):
    """A cluster in two: whether each member is in the half of the first one, and the largest
    similarity across.
    """

    first: list[bool]
    cross: float  # α_cross

    def half(self, first: bool) -> list[int]:
        """The rows of one half.

        Args:
            first: Of which half: that of the first member, or the other one.

        Returns:
            Ascending.
        """
        return [i for i, of_first in enumerate(self.first) if of_first is first]


def bipartition(updates: Tensor) -> Halves:
    """The two halves of rows [m, d], m ≥ 2, whose largest cosine similarity across, α_cross, is
    least.

    That is single linkage cut at two: to make the closest pair ACROSS as far apart as can be, the
    closest pairs are joined first, until two groups are left; complete linkage would look at the
    farthest pairs within.

    Args:
        updates: Δ_i, a row a member.

    Returns:
        The halves.
    """
    from scipy.cluster.hierarchy import cut_tree, linkage

    unit = torch.nn.functional.normalize(updates, dim=1)
    similar = (unit @ unit.T).to(torch.float64).numpy()
    above = [(i, j) for i in range(len(similar)) for j in range(i + 1, len(similar))]
    far = [max(1 - similar[pair], 0.0) for pair in above]
    labels = cut_tree(linkage(far, "single"), n_clusters=[2])[:, 0]
    first = (labels == labels[0]).tolist()
    return Halves(first, float(max(similar[i, j] for i, j in above if first[i] != first[j])))
