"""Tensors of a message whose size its sender chooses, within a bound."""

from dataclasses import dataclass

from torch import Tensor

__all__ = ["UpTo"]


@dataclass(frozen=True, eq=False)
class UpTo:
    """In the place of a tensor of ``Method.expected_update``: fewer of its rows may be sent."""

    most: Tensor

    def cut(self, leaf: Tensor) -> Tensor:
        """``most`` with as many rows as what arrived, or all that it has.

        Args:
            leaf: What arrived in its place.

        Returns:
            What it must be like, [rows, …].
        """
        return self.most[: len(leaf)] if leaf.dim() else self.most
