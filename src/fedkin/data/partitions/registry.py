"""Who holds which samples: every partition by name.

A partition is a function (labels [n], clients, generator, *, parameters) -> Partition. All are
exact (no sample twice), use no rejection sampling, and give the same result for the same generator.
"""

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from fedkin.core.errors import unknown
from fedkin.data.arguments import check_arguments
from fedkin.data.arrays import Array
from fedkin.data.partitions.by_class import persfl_ds1, persfl_ds3, two_class
from fedkin.data.partitions.dirichlet import dirichlet, persfl_ds2
from fedkin.data.partitions.shares import Partition
from fedkin.data.partitions.simple import iid, label_groups, natural, shards

__all__ = ["PARTITIONS", "Partition", "parameters", "partition"]

PARTITIONS: dict[str, Callable[..., Partition]] = {
    "iid": iid,
    "dirichlet": dirichlet,
    "persfl_ds1": persfl_ds1,
    "persfl_ds2": persfl_ds2,
    "persfl_ds3": persfl_ds3,
    "two_class": two_class,
    "label_groups": label_groups,
    "shards": shards,
    "natural": natural,
}


def partition(
    name: str, labels: Array, clients: int | None, rng: np.random.Generator, /, **params: Any
) -> Partition:
    """The named partition.

    Args:
        name: A key of PARTITIONS.
        labels: [n] classes, or targets where the partition does not ask for classes.
        clients: How many; None: as many as there are natural ones.
        rng: What draws.
        params: The partition's own parameters.

    Returns:
        Rows a client, and what the generator knows.

    Raises:
        FedkinError: A name or parameter that does not exist, with the nearest that does; a
            parameter of another kind; or what the partition itself refuses.
    """
    if name not in PARTITIONS:
        raise unknown("partition", name, PARTITIONS)
    known = parameters(name)
    for key in params:
        if key not in known and key != "client":
            raise unknown(f"parameter of partition {name}", key, known or ["none"])
    options = {key: value for key, value in params.items() if key in known}
    check_arguments(PARTITIONS[name], options, "split", name)
    return PARTITIONS[name](labels, clients, rng, **params)


def parameters(name: str) -> dict[str, Any]:
    """The partition's own parameters and their defaults.

    Args:
        name: A key of PARTITIONS.

    Returns:
        Name → default.
    """
    signature = inspect.signature(PARTITIONS[name])
    kinds = signature.parameters.values()
    return {
        p.name: p.default
        for p in kinds
        if p.kind is inspect.Parameter.KEYWORD_ONLY and p.name != "client"
    }
