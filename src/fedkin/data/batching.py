"""Mini-batches as data: which samples each local step sees, decided before the work begins."""

from typing import NamedTuple

import numpy as np
import torch

from fedkin.core.errors import FedkinError
from fedkin.data.arrays import Array


class Plan(NamedTuple):
    """index: int64 [steps, batch], positions 0..n-1 in the client's own split. weight: float32
    [steps, batch].

    A row's weights sum to 1: 1/size on real samples, 0 on padding (whose index is 0). So the
    weighted sum of the per-sample losses is the mean over the real batch, whatever its size. Those
    of ``poisson`` sum to 1 on average alone: it divides by the size that it expects.
    """

    index: torch.Tensor  # type: ignore[assignment]  # hides tuple.index, which nobody needs here
    weight: torch.Tensor


def epochs(n: int, batch: int, epochs: int, rng: np.random.Generator, *, pad: bool = True) -> Plan:
    """``epochs`` passes over n samples, each a fresh permutation: epochs·ceil(n/batch) steps.

    pad=True: the last, partial batch of a pass is kept, filled with index 0 and weight 0.
    pad=False, for models with batch norm, where padding would enter the statistics: it is completed
    from the start of the pass's permutation, and with n < batch every batch is all n samples (table
    width n).

    Args:
        n: Samples.
        batch: Samples of a full batch.
        epochs: Passes.
        rng: What shuffles.
        pad: Whether the last batch of a pass is filled up with rows of weight 0.

    Returns:
        Index and weight tables [steps, batch]; weights of a step sum to 1.
    """
    _check(n, batch, epochs, "epochs")
    width = batch if pad else min(batch, n)
    steps = -(-n // width)
    table = np.zeros((epochs, steps * width), np.int64)
    table[:, :n] = _permutations(n, epochs, rng)
    if pad:
        weight = np.zeros(steps * width, np.float32)
        weight[:n] = 1.0 / width
        weight[(steps - 1) * width : n] = 1.0 / (n - (steps - 1) * width)
        weights = np.tile(weight, epochs)
    else:
        table[:, n:] = table[:, : steps * width - n]
        weights = np.full(table.size, 1.0 / width, np.float32)
    return _plan(table.reshape(-1, width), weights.reshape(-1, width))


def steps(n: int, batch: int, steps: int, rng: np.random.Generator, *, pad: bool = True) -> Plan:
    """Exactly ``steps`` full batches, running through one reshuffled permutation after the other.

    A batch that crosses the border of two permutations may hold a sample twice. With n < batch
    every batch is all n samples, padded to ``batch`` where pad is set (so that all clients share
    one shape).

    Args:
        n: Samples.
        batch: Samples of a full batch.
        steps: Batches.
        rng: What shuffles.
        pad: Whether batches of a client with fewer samples are filled up to ``batch``.

    Returns:
        Index and weight tables [steps, batch]; weights of a step sum to 1.
    """
    _check(n, batch, steps, "steps")
    if n <= batch:
        return _everything(n, batch, steps, pad)
    total = steps * batch
    order = _permutations(n, -(-total // n), rng).ravel()[:total]
    return _plan(order.reshape(steps, batch), np.full((steps, batch), 1.0 / batch, np.float32))


def uniform(n: int, batch: int, steps: int, rng: np.random.Generator, *, pad: bool = True) -> Plan:
    """``steps`` batches, each drawn afresh and uniformly, without repetition within the batch
    (COMET's eq. 2).

    With n <= batch every batch is all n samples, padded as in ``steps``.

    Args:
        n: Samples.
        batch: Samples of a full batch.
        steps: Batches.
        rng: What draws.
        pad: As in ``steps``.

    Returns:
        Index and weight tables [steps, batch]; weights of a step sum to 1.
    """
    _check(n, batch, steps, "steps")
    if n <= batch:
        return _everything(n, batch, steps, pad)
    if n <= 4 * batch:  # few enough keys: one sort for all steps
        order = np.argpartition(rng.random((steps, n), np.float32), batch - 1, axis=1)[:, :batch]
    else:
        order = np.stack([rng.choice(n, batch, replace=False, shuffle=False) for _ in range(steps)])
    return _plan(np.ascontiguousarray(order), np.full((steps, batch), 1.0 / batch, np.float32))


def poisson(n: int, batch: int, drawn: Array) -> Plan:
    """Every sample is in every batch by itself, with the chance q = min(1, batch / n).

    Args:
        n: Samples.
        batch: The expected size of a batch.
        drawn: Uniform numbers in (0, 1] [steps, n], from a secret.

    Returns:
        Batches of different sizes, padded to one width. A sample weighs 1 / (q n), whatever the
        size of its batch.
    """
    _check(n, batch, len(drawn), "steps")
    chosen = drawn <= min(1.0, batch / n)
    sizes = chosen.sum(1)
    width = _wide(int(sizes.max()), batch)
    order = np.argsort(~chosen, axis=1, kind="stable")[:, :width]
    index = np.zeros((len(drawn), width), np.int64)
    index[:, : order.shape[1]] = order
    real = np.arange(width) < sizes[:, None]
    index[~real] = 0
    return _plan(index, (real / min(batch, n)).astype(np.float32))


def _wide(most: int, batch: int) -> int:
    """A width that holds ``most``, and that most clients share: 3 deviations above the mean."""
    width = batch + 3 * batch**0.5
    while width < most:
        width *= 1.5
    return -(-int(width) // 8) * 8 if width >= 8 else 8


def _permutations(n: int, count: int, rng: np.random.Generator) -> Array:
    if count == 1:
        return rng.permutation(n)[None]
    return rng.permuted(np.broadcast_to(np.arange(n), (count, n)), axis=1)


def _everything(n: int, batch: int, steps: int, pad: bool) -> Plan:
    width = batch if pad else n
    index, weight = np.zeros((steps, width), np.int64), np.zeros((steps, width), np.float32)
    index[:, :n], weight[:, :n] = np.arange(n), 1.0 / n
    return _plan(index, weight)


def _plan(index: Array, weight: Array) -> Plan:
    return Plan(torch.from_numpy(index), torch.from_numpy(weight))


def _check(n: int, batch: int, times: int, name: str) -> None:
    for key, value in (("batch", batch), (name, times)):
        if value < 1:
            raise FedkinError(f"{key}={value} must be at least 1")
    if n < 1:
        raise FedkinError(
            "a client without samples cannot train: give every client at least one training sample"
        )
