"""What methods share whose server keeps the cluster of each client under ``cluster`` [clients]."""

import torch

from fedkin.core.tree import Tree


def in_each_cluster(state: Tree, count: int) -> tuple[Tree, ...]:
    """A newcomer in each of the clusters: its number is the first free one.

    Args:
        state: Of the server, with ``cluster`` [clients] int64.
        count: Clusters.

    Returns:
        One state for each cluster, with ``cluster`` [clients + 1].
    """
    return tuple(
        {**state, "cluster": torch.cat([state["cluster"], torch.tensor([k])])} for k in range(count)
    )
