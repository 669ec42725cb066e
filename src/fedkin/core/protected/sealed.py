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
    ``open_at_home``: work of which nothing is sent sees its samples; ``opened``: some work did.
    """

    def __init__(
        self, clip: float, noises: Sequence[Params] | None, open_at_home: bool = False
    ) -> None:
        self.clip = clip
        self.open_at_home, self.opened = open_at_home, False
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
    """Private samples, or rows beside them, that only ``gradient`` may open; ``home``: for work of
    which nothing is sent, which is followed.
    """

    def __init__(
        self, content: Batch | Tensor, draws: Draws, place: int, home: bool = False
    ) -> None:
        self.content, self.draws, self.place, self.home = content, draws, place, home

    def __getattr__(self, name: str) -> NoReturn:
        _uncovered()

    def __iter__(self) -> NoReturn:
        _uncovered()

    def __getitem__(self, key: Any) -> NoReturn:
        _uncovered()

    @classmethod
    def __torch_function__(cls, *_: Any, **__: Any) -> NoReturn:
        _uncovered()


class Unscanned:
    """Mini-batches of private samples outside of a scan, which alone may take them up."""

    def __init__(self, rows: Tree) -> None:
        self.rows = rows

    def __getattr__(self, name: str) -> NoReturn:
        _outside()

    def __iter__(self) -> NoReturn:
        _outside()

    def __getitem__(self, key: Any) -> NoReturn:
        _outside()

    @classmethod
    def __torch_function__(cls, *_: Any, **__: Any) -> NoReturn:
        _outside()


def taken_up(tree: Tree) -> Tree:
    """What a scan goes through, of what was gathered for it.

    Args:
        tree: Mini-batches, private or not, or tuples of them.

    Returns:
        The same, with the rows themselves in the place of ``Unscanned``.
    """
    if isinstance(tree, Unscanned):
        return tree.rows
    if isinstance(tree, tuple) and not isinstance(tree, Batch | Aligned):
        return tuple(taken_up(part) for part in tree)
    return tree


def local_only(batch: Batch) -> Batch:
    """The mini-batch for work of which nothing is ever sent, such as a step of a personal model.

    It is what a method declares in a step. With privacy.personal = 'plain' such work is neither
    clipped nor noised. Before training it is followed: its gradients are no numbers (nan) then, and
    a method that would send anything made of them is refused.

    Args:
        batch: What the step is given.

    Returns:
        The same; open where samples are protected and such work goes without noise.
    """
    if not isinstance(batch, Sealed) or not batch.draws.open_at_home:
        return batch
    batch.draws.opened = True
    followed: Any = Sealed(batch.content, batch.draws, batch.place, home=True)
    opened: Batch = followed if batch.draws.sought else batch.content
    return opened


def _uncovered() -> NoReturn:
    raise Uncovered(
        "its step looks at private samples outside of a gradient, which no noise covers"
    )


def _outside() -> NoReturn:
    raise Uncovered("its clients look at private samples outside of a scan, which no noise covers")


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
