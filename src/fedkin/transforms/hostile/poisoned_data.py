"""Attacks on what clients learn from: other labels, and a trigger that stands for a class."""

from collections.abc import Callable

import torch
from torch import Tensor

from fedkin.core.errors import FedkinError
from fedkin.core.method import ClientContext, FederationInit, Method
from fedkin.core.model import Batch
from fedkin.core.ops import Batches, BatchSampling
from fedkin.core.tree import Tree
from fedkin.transforms.seen_data import SeenData

CORNER = 3  # rows and columns, or columns, that a trigger covers
BRIGHT, WHITE = 1.0, 255  # what it puts there; pixels are bytes


def flipped(batch: Batch, classes: int) -> Batch:
    """The batch with class K − 1 − y in place of y; labels that count for nothing stay."""
    return batch._replace(y=torch.where(batch.y >= 0, classes - 1 - batch.y, batch.y))


def triggered(x: Tensor) -> Tensor:
    """Samples [n, …] with a trigger: 1 (of pixels: white) in the last three columns of the last
    three rows, or in the last three columns where a sample has one axis.
    """
    shown = x.clone()
    value = WHITE if x.dtype == torch.uint8 else BRIGHT
    if x.dim() > 2:
        shown[..., -CORNER:, -CORNER:] = value
    else:
        shown[..., -CORNER:] = value
    return shown


def backdoor(target: int) -> Callable[[Batch, int], Batch]:
    """Every second sample of a batch shows the trigger and has the label ``target``."""

    def change(batch: Batch, classes: int) -> Batch:
        odd = torch.arange(len(batch.y)) % 2 == 1
        samples = odd.reshape(-1, *[1] * (batch.x.dim() - 1))
        labels = odd.reshape(-1, *[1] * (batch.y.dim() - 1))
        return batch._replace(
            x=torch.where(samples, triggered(batch.x), batch.x),
            y=torch.where(labels, target, batch.y),
        )

    return change


def with_data(method: Method, who: frozenset[int], change: Callable[[Batch, int], Batch]) -> Method:
    """The method whose attackers learn from other data than they have."""

    def client_update(received: Tree, own: Tree, data: ClientContext) -> tuple[Tree, Tree]:
        if data.info.client in who:
            classes = data.info.classes
            data = poisoned(data, lambda batch: change(batch, classes))
        return method.client_update(received, own, data)

    return method._replace(client_update=client_update)


def poisoned(data: ClientContext, change: Callable[[Batch], Batch]) -> ClientContext:
    """Data whose training samples are changed; the others stay.

    Args:
        data: The attacker's own.
        change: Of mini-batches; it is given one whose samples lie along the first axis.
    """

    def batches(
        draw: BatchSampling = "permuted",
        purpose: str = "batches",
        *,
        steps: int | None = None,
        epochs: int | None = None,
        beside: Tensor | None = None,
    ) -> Batches:
        found = data.batches(draw, purpose, steps=steps, epochs=epochs, beside=beside)
        return found._replace(
            gather=lambda first, last: _changed(found.gather(first, last), change)
        )

    def whole(split: str) -> list[Batch]:
        found = data.whole(split)
        return [change(batch) for batch in found] if split == "train" else found

    return SeenData(data, batches=batches, whole=whole)


def _changed(tree: Tree, change: Callable[[Batch], Batch]) -> Tree:
    """Stacked mini-batches [steps, size, …], perhaps with rows beside them."""
    if not isinstance(tree, Batch):
        batch, *beside = tree
        return (_changed(batch, change), *beside)
    steps, size = tree.y.shape[:2]
    flat = change(Batch(tree.x.flatten(0, 1), tree.y.flatten(0, 1), tree.weight))
    x = flat.x.reshape(steps, size, *flat.x.shape[1:])
    return tree._replace(x=x, y=flat.y.reshape(steps, size, *flat.y.shape[1:]))


def classes_needed(method: Method, kind: str, target: int = 0) -> Method:
    """The method, refused where the data have no class ``target``."""

    def check(start: FederationInit, participants: int) -> None:
        if start.classes <= target:
            what = f"class {target}" if start.classes else "classes"
            raise FedkinError(
                f"transform attack: {kind} needs {what}, and the data have "
                f"{start.classes or 'numbers'}: choose another "
                f"{'target' if start.classes else 'kind'}"
            )
        method.check(start, participants)

    return method._replace(check=check)
