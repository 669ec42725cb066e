"""Notices a method's function that writes into what it was given: others hold the same tensors."""

import torch
from torch import Tensor

from fedkin.core.errors import FedkinError
from fedkin.core.tree import Tree, map_tree, named_leaves

WHOLE = {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}  # by bytes of an element


class MutationGuard:
    """A tree that a method's function is about to see.

    A tensor counts how often it was written into, but not what is written through ``.data``, its
    NumPy array or a module that took it. So its numbers are added up as well, which is quick beside
    a training step.

    Args:
        tree: The server's state, a message, or a personal state.
    """

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._tensors = [
            (path, leaf, _marks(leaf))
            for path, leaf in named_leaves(tree)
            if isinstance(leaf, Tensor)
        ]

    def handed(self) -> Tree:
        """The tree with nodes of its own, for one call: ``tree["x"] = …`` in it reaches nobody
        else.

        Returns:
            Nodes are new, tensors the same.
        """
        return map_tree(_same, self._tree)

    def is_as_it_was(self) -> bool:
        """Whether no tensor was written into since this object was made.

        Returns:
            False where one was.
        """
        return self._written() is None

    def check(self, method: str, what: str) -> None:
        """Refuse what a function did to the tree.

        Args:
            method: Its name, for the message.
            what: What the tree is to it: "the server's state".

        Raises:
            FedkinError: A tensor was written into; names its place.
        """
        path = self._written()
        if path is not None:
            raise FedkinError(
                f"method {method} writes into {what}{f' at {path}' if path else ''}, which others "
                "hold too: make a new tensor (a = a + b, not a += b)"
            )

    def _written(self) -> str | None:
        for path, tensor, marks in self._tensors:
            if _marks(tensor) != marks:
                return path
        return None


def _marks(tensor: Tensor) -> tuple[int, int]:
    """How often it was written into, and the sum of its bits, as whole numbers that wrap around."""
    count = 0 if tensor.is_inference() else tensor._version  # which counts nothing
    size, flat = tensor.element_size(), tensor.detach().reshape(-1)
    # two numbers of four bytes at a time, where they are there: five times as quick
    eights = (flat.numel() * size) % 8 == 0 and (flat.storage_offset() * size) % 8 == 0
    return count, int(flat.view(torch.int64 if eights else WHOLE[size]).sum())


def _same(leaf: Tree) -> Tree:
    return leaf
