"""The trace of a model's Fisher information: how much each parameter says about the labels."""

from collections.abc import Callable
from contextlib import suppress

import torch
from torch import Tensor

from fedkin.core.method import ClientContext
from fedkin.core.model import Batch, Model
from fedkin.core.tree import Params, is_buffer, map_tree

ABREAST = 64  # samples whose slopes are taken at once
ROWS = 4  # of them, whose squares lie in a cache at once
LARGEST_STACKED = 500_000  # numbers in a sample's slope, of those taken at once on a CPU


def trace(data: ClientContext, w: Params, body: Params) -> Tensor:
    """tr(F) = E ‖∇ log p(y|x)‖² [1], at w, on the client's training data, in evaluation mode.

    Args:
        data: The client's.
        w: Its whole model.
        body: The parameters over which the trace is taken; buffers among them have no slope.
    """
    model = data.model

    def surprise(moving: Params, x: Tensor, y: Tensor) -> Tensor:
        return model.family.nll(model.outputs({**w, **moving}, x[None]), y[None]).sum()

    slope, total = torch.func.grad(surprise), torch.zeros(1, dtype=torch.float64)
    with torch.inference_mode(False):
        at = {name: value.clone() for name, value in body.items() if not is_buffer(name)}
        stacked = stacks(model, at)
        for batch in data.whole("train"):
            total += batch.weight.double() @ lengths(slope, at, batch, stacked)
    return total.to(next(iter(w.values())).dtype)


def stacks(model: Model, at: Params) -> bool:
    """Whether the slopes of many samples at once are faster than one after the other: on a GPU, and
    of small models, whose slopes lie in a cache.
    """
    where = next(iter(model.there(at).values())).device
    return where.type != "cpu" or sum(value.numel() for value in at.values()) <= LARGEST_STACKED


def lengths(slope: Callable[..., Params], at: Params, batch: Batch, stacked: bool) -> Tensor:
    """‖slope‖² of each sample [rows], float64."""
    if stacked:
        many = torch.func.vmap(slope, in_dims=(None, 0, 0))
        parts = zip(torch.split(batch.x, ABREAST), torch.split(batch.y, ABREAST), strict=True)
        with suppress(RuntimeError):  # a forward that reads values of a batch has no vmap
            return torch.cat([squared(many(at, x, y)) for x, y in parts])
    singly = (slope(at, x, y) for x, y in zip(batch.x, batch.y, strict=True))
    return torch.cat([squared(map_tree(lambda value: value[None], one)) for one in singly])


def squared(slopes: Params) -> Tensor:
    """‖·‖² of each of several slopes along a first axis [rows], float64. A few rows at a time: all
    of them, in double precision, would go to fresh memory, which takes longer than the sums.
    """
    parts = [
        torch.cat([few.to(torch.float64, copy=True).square_().sum(1) for few in _a_few(value)])
        for value in slopes.values()
    ]
    return torch.stack(parts).sum(0)


def _a_few(value: Tensor) -> tuple[Tensor, ...]:
    """[rows, numbers] of a few rows each. None of several rows is alone: threads would share its
    sum, and make it in another order.
    """
    return value.reshape(len(value), -1).tensor_split(max(len(value) // ROWS, 1))
