"""What the tests of registry and of its parts have in common."""

from typing import Any

import numpy as np

from fedkin.data.partitions.registry import partition

LABELS = np.random.default_rng(5).permutation(np.repeat(np.arange(10), 300))


SMALL: dict[str, dict[str, Any]] = {"two_class": {"low": 20, "high": 200}}


def split(
    name: str, clients: int = 20, seed: int = 0, labels: np.ndarray = LABELS, **params: Any
) -> Any:
    return partition(
        name, labels, clients, np.random.default_rng(seed), **{**SMALL.get(name, {}), **params}
    )


def sizes(part: Any) -> np.ndarray:
    return np.array([len(rows) for rows in part.indices])


def distinct(part: Any, labels: np.ndarray = LABELS) -> np.ndarray:
    return np.array([len(np.unique(labels[rows])) for rows in part.indices])
