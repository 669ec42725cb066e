"""Rows of data that lie in memory: taken by their numbers, and drawn as mini-batches."""

import numpy as np
from torch import Tensor

from fedkin.core.model import Model
from fedkin.core.ops import Batches, Scanner
from fedkin.data import batching


def drawn_batches(
    runtime: Scanner,
    model: Model,
    tensors: tuple[Tensor, ...],
    size: int,
    steps: int,
    rng: np.random.Generator,
) -> Batches:
    """Mini-batches of rows that are drawn uniformly.

    Args:
        runtime: What scans them.
        model: Whose parameters the steps move.
        tensors: Of one first axis, [n, …] each.
        size: Rows of a batch.
        steps: How many batches.
        rng: What draws.

    Returns:
        Tuples of rows, with plain SGD.
    """
    n = len(tensors[0])
    index = batching.uniform(n, min(size, n), steps, rng).index
    return Batches(
        runtime, model, steps, lambda a, b: tuple(taken(tensor, index[a:b]) for tensor in tensors)
    )


def taken(tensor: Tensor, index: Tensor) -> Tensor:
    """Rows of a tensor.

    Args:
        tensor: [n, …].
        index: Numbers of rows, of any shape.

    Returns:
        [*shape of ``index``, …].
    """
    return tensor.index_select(0, index.reshape(-1)).view(*index.shape, *tensor.shape[1:])
