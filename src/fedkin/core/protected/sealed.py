"""Private samples as a step holds them: ``gradient`` opens them, and nothing else."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, NoReturn

from torch import Tensor

from fedkin.core.errors import FedkinError
from fedkin.core.model import Batch
from fedkin.core.tree import Params, Tree

Shapes = dict[str, tuple[int, ...]]  # of the weights that a gradient is of


class Uncovered(FedkinError):
    """Private samples would reach a message by a way that no noise covers."""


class Aligned(NamedTuple):
    """What stands beside private samples, one row each: as private as they are."""

    rows: Tensor


class Draws:
    """The private gradients of one step, in order: which mini-batch each is of, and its noise.

    ``noises`` None: nothing is computed; ``taken`` notes (mini-batch, shapes) of each gradient.
    """

    def __init__(self, clip: float, noises: Sequence[Params] | None) -> None:
        self.clip = clip
        self.sought = noises is None
        self.taken: list[tuple[int, Shapes]] = []
        self._noises: Iterator[Params] = iter(noises or ())

    def noise(self) -> Params:
        """That of the next gradient.

        Returns:
            Noise like the weights.
        """
        return next(self._noises)


class Sealed:
    """Private samples, or rows beside them, that only ``gradient`` may open."""

    def __init__(self, content: Batch | Tensor, draws: Draws, place: int) -> None:
        self.content, self.draws, self.place = content, draws, place

    def __getattr__(self, name: str) -> NoReturn:
        _uncovered()

    def __iter__(self) -> NoReturn:
        _uncovered()

    def __getitem__(self, key: Any) -> NoReturn:
        _uncovered()

    @classmethod
    def __torch_function__(cls, *_: Any, **__: Any) -> NoReturn:
        _uncovered()


def _uncovered() -> NoReturn:
    raise Uncovered(
        "its step looks at private samples outside of a gradient, which no noise covers"
    )


def sealed(tree: Tree, draws: Draws) -> Tree:
    """The same batch with its private parts sealed: every Batch, and what is Aligned with it.

    Args:
        tree: What a step is given: a Batch, or tuples of batches and public rows.
        draws: Of the step.

    Returns:
        The tree, with Sealed in the place of what is private.
    """
    return _sealed(tree, draws, [0])


def _sealed(tree: Tree, draws: Draws, count: list[int]) -> Tree:
    if isinstance(tree, Batch):
        count[0] += 1
        return Sealed(tree, draws, count[0])
    if isinstance(tree, Aligned):
        return Sealed(tree.rows, draws, count[0])
    if isinstance(tree, tuple):
        return tuple(_sealed(part, draws, count) for part in tree)
    return tree
