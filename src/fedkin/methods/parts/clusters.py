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


def reported_cluster(control: Tree, count: int) -> int:
    """The cluster that a client says it chose.

    Args:
        control: Of its message, with ``cluster``, a 0-d tensor.
        count: Clusters that there are.

    Returns:
        Its number.

    Raises:
        ValueError: There is no such cluster: the engine leaves the message out.
    """
    found = int(control["cluster"])
    if not 0 <= found < count:
        raise ValueError(f"it chose cluster {found} of 0 to {count - 1}")
    return found


def count_of(models: Tree) -> int:
    """How many clusters there are.

    Args:
        models: Their models, stacked: leaves [K, …].

    Returns:
        K.
    """
    return len(next(iter(models.values())))


def in_each_cluster(state: Tree, models: Tree) -> tuple[Tree, ...]:
    """A newcomer in each of the clusters: its number is the first free one.

    Args:
        state: Of the server, with ``cluster`` [clients] int64.
        models: Of the clusters, stacked.

    Returns:
        One state for each cluster, with ``cluster`` [clients + 1].
    """
    return tuple(
        {**state, "cluster": torch.cat([state["cluster"], torch.tensor([k])])}
        for k in range(count_of(models))
    )
