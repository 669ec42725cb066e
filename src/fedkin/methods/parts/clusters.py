"""What methods share whose server keeps the cluster of each client under ``cluster`` [clients]."""

import torch

from fedkin.core.tree import Tree

NOT_HEARD = -1  # in the place of a cluster: no round has had the client yet


def clusters_of(state: Tree) -> dict[int, int]:
    """Who is in which cluster, of those that a round has had.

    Args:
        state: Of the server, with ``cluster`` [clients] int64.

    Returns:
        {client: its cluster}.
    """
    return {client: k for client, k in enumerate(state["cluster"].tolist()) if k != NOT_HEARD}


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
