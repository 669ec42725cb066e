"""A client's update as one vector: what it sent less what it was sent."""

from collections.abc import Iterator

import torch
from torch import Tensor

from fedkin.core.aggregation import Contributions
from fedkin.core.errors import FedkinError
from fedkin.core.tree import Tree, fill, is_buffer, leaves, named_leaves


def flattened(tree: Tree) -> Tensor:
    """All tensors of a tree as one vector [d] in double precision, in order."""
    parts = [leaf.reshape(-1).to(torch.float64) for leaf in leaves(tree)]
    return torch.cat(parts) if parts else torch.zeros(0, dtype=torch.float64)


def unflattened(vector: Tensor, like: Tree) -> Tree:
    """A vector [d] as a tree with the structure, shapes and dtypes of ``like``."""

    def parts() -> Iterator[Tensor]:
        at = 0
        for leaf in leaves(like):
            yield vector[at : at + leaf.numel()].reshape(leaf.shape).to(leaf.dtype)
            at += leaf.numel()

    return fill(like, parts())


def base_of(message: Tree, received: Tree, differences: tuple[str, ...]) -> Tensor:
    """What an update [d] counts from: what was received at the same places of a message.

    Args:
        message: What a client sends, {kind: tree}.
        received: What it was sent.
        differences: Kinds that are sent as changes already, but for running statistics.

    Raises:
        FedkinError: Something is sent that was never received in this shape.
    """
    sent = dict(named_leaves(received))
    parts = []
    for path, leaf in named_leaves(message):
        before = sent.get(path)
        if path.partition("/")[0] in differences and not is_buffer(path.rpartition("/")[2]):
            parts.append(torch.zeros(leaf.numel(), dtype=torch.float64))
        elif not isinstance(before, Tensor) or before.shape != leaf.shape:
            raise FedkinError(
                f"clients send {path}, which they were not sent: it is no update of anything"
            )
        else:
            parts.append(before.reshape(-1).to(torch.float64))
    return torch.cat(parts) if parts else torch.zeros(0, dtype=torch.float64)


def base_in(given: Contributions, client: int) -> Tensor:
    """``base_of`` a client's contribution of this round."""
    message = given.replies[client].message
    return base_of(message, given.received(client), given.differences)
