"""What a method's functions are given, and must leave as it was: others hold the same tensors."""

from torch import Tensor

from fedkin.core.errors import FedkinError
from fedkin.core.tree import Tree, map_tree, named_leaves


class Unchanged:
    """A tree that a method's function is about to see.

    A tensor counts how often it was written into, so whether the function wrote into one costs no
    look at its numbers.

    Args:
        tree: The server's state, a message, or a personal state.
    """

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._tensors = [
            (path, leaf, leaf._version)
            for path, leaf in named_leaves(tree)
            if isinstance(leaf, Tensor) and not leaf.is_inference()  # which count nothing
        ]

    def handed(self) -> Tree:
        """The tree with nodes of its own, for one call: ``tree["x"] = …`` in it reaches nobody
        else.
        """
        return map_tree(_same, self._tree)

    def is_as_it_was(self) -> bool:
        """Whether no tensor was written into since this object was made."""
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
        for path, tensor, count in self._tensors:
            if tensor._version != count:
                return path
        return None


def _same(leaf: Tree) -> Tree:
    return leaf
