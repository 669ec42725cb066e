"""A client's data of which a transform shows its method some parts in another form."""

from typing import Protocol

from torch import Tensor

from fedkin.core.method import ClientContext, ClientInfo
from fedkin.core.model import Batch
from fedkin.core.ops import Batches, BatchSampling
from fedkin.core.tree import Params


class Draw(Protocol):
    """``ClientContext.batches``."""

    def __call__(
        self,
        draw: BatchSampling = "permuted",
        purpose: str = "batches",
        *,
        steps: int | None = None,
        epochs: int | None = None,
        beside: Tensor | None = None,
    ) -> Batches: ...


class Whole(Protocol):
    """``ClientContext.whole``."""

    def __call__(self, split: str) -> list[Batch]: ...


class Score(Protocol):
    """``ClientContext.score``, and ``rank``."""

    def __call__(self, w: Params, split: str) -> tuple[float, float]: ...


class RankError(Protocol):
    """``ClientContext.rank_error``."""

    def __call__(self, w: Params, split: str, rank: tuple[float, float]) -> float: ...


class SeenData:
    """A ``ClientContext`` that is the client's own, but for the parts given."""

    def __init__(
        self,
        data: ClientContext,
        *,
        info: ClientInfo | None = None,
        batches: Draw | None = None,
        whole: Whole | None = None,
        score: Score | None = None,
        rank: Score | None = None,
        rank_error: RankError | None = None,
    ) -> None:
        self.info = data.info if info is None else info
        self.batches: Draw = data.batches if batches is None else batches
        self.whole: Whole = data.whole if whole is None else whole
        self.score: Score = data.score if score is None else score
        self.rank: Score = data.rank if rank is None else rank
        self.rank_error: RankError = data.rank_error if rank_error is None else rank_error
        self.rows = data.rows
        self.model, self.key, self.rounds_before = data.model, data.key, data.rounds_before
        self.public, self.public_y = data.public, data.public_y
        self.decay, self.secret = data.decay, data.secret
