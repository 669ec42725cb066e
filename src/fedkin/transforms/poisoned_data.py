"""A client's data as an attacker shows them to its method."""

from collections.abc import Callable
from typing import Literal

from torch import Tensor

from fedkin.core.method import ClientContext, ClientInfo
from fedkin.core.model import Batch, Model
from fedkin.core.ops import Batches
from fedkin.core.rng import Key, Secret
from fedkin.core.tree import Params, Tree


class PoisonedData:
    """A ``ClientContext`` whose training samples are changed; the others stay.

    ``change``: of mini-batches; it is given one whose samples lie along the first axis.
    """

    def __init__(self, data: ClientContext, change: Callable[[Batch], Batch]) -> None:
        self._data, self._change = data, change

    @property
    def info(self) -> ClientInfo:
        return self._data.info

    @property
    def model(self) -> Model:
        return self._data.model

    @property
    def key(self) -> Key:
        return self._data.key

    @property
    def public(self) -> Tensor | None:
        return self._data.public

    @property
    def public_y(self) -> Tensor | None:
        return self._data.public_y

    @property
    def decay(self) -> float:
        return self._data.decay

    @property
    def secret(self) -> Secret | None:
        return self._data.secret

    def batches(
        self,
        draw: Literal["permuted", "uniform", "poisson"] = "permuted",
        purpose: str = "batches",
        *,
        steps: int | None = None,
        epochs: int | None = None,
        beside: Tensor | None = None,
    ) -> Batches:
        found = self._data.batches(draw, purpose, steps=steps, epochs=epochs, beside=beside)
        return found._replace(gather=lambda first, last: self._poisoned(found.gather(first, last)))

    def rows(self, tensors: tuple[Tensor, ...], size: int, steps: int, purpose: str) -> Batches:
        return self._data.rows(tensors, size, steps, purpose)

    def whole(self, split: str) -> list[Batch]:
        found = self._data.whole(split)
        return [self._change(batch) for batch in found] if split == "train" else found

    def score(self, w: Params, split: str) -> tuple[float, float]:
        return self._data.score(w, split)

    def _poisoned(self, tree: Tree) -> Tree:
        """Stacked mini-batches [steps, size, …], perhaps with rows beside them."""
        if not isinstance(tree, Batch):
            batch, *beside = tree
            return (self._poisoned(batch), *beside)
        steps, size = tree.y.shape[:2]
        flat = self._change(Batch(tree.x.flatten(0, 1), tree.y.flatten(0, 1), tree.weight))
        x = flat.x.reshape(steps, size, *flat.x.shape[1:])
        return tree._replace(x=x, y=flat.y.reshape(steps, size, *flat.y.shape[1:]))
