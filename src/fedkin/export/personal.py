"""A personal model as a torch module, whatever its method makes of it: one network, or a mixture of
several.
"""

from collections.abc import Callable

from torch import Tensor, nn

from fedkin.core.model import Model
from fedkin.core.tree import Tree, fill, is_buffer, named_leaves


def _trained(path: str, leaf: Tensor) -> bool:
    """Running statistics are not: no gradient goes through them."""
    return leaf.is_floating_point() and not any(map(is_buffer, path.split("/")))


class Personal(nn.Module):
    """One client's personal model: ``forward(x)`` gives log-probabilities [batch, classes] (means
    for regression).

    Its parameters are those of the run; they can be saved, exported, or trained on.
    """

    def __init__(
        self, model: Model, view: Tree, predict: Callable[[Model, Tree, Tensor], Tensor]
    ) -> None:
        super().__init__()
        self._model, self._predict, self._like = model, predict, view
        for path, leaf in named_leaves(view):
            self.register_parameter(
                path.replace(".", "_"), nn.Parameter(leaf.clone(), _trained(path, leaf))
            )

    def extra_repr(self) -> str:
        """The architecture and its size: what ``print`` shows between the brackets."""
        many = sum(one.numel() for one in self.parameters())
        return f"{self._model.name}, {many:,} parameters, {self._model.family.name}"

    def forward(self, x: Tensor) -> Tensor:
        """x: [batch, …] as in the data set, like ``Result.data`` gives it; column c of the result
        is class number c.
        """
        view = fill(self._like, iter(self.parameters()))
        return self._predict(self._model, view, x)
