"""One client's data and tools during one round: what a method's ``local`` is given (the Data
protocol).
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import numpy as np
import torch
from torch import Tensor

from fedkin.core.method import ClientInfo, plain_prediction
from fedkin.core.model import Batch, Model
from fedkin.core.ops import Batches, Scanner
from fedkin.core.rng import Key
from fedkin.core.tree import Tree, dtype_of
from fedkin.data import batching
from fedkin.data.population import Population
from fedkin.engine.evaluation import Predict, parts, score
from fedkin.engine.measures import TWO, measures


class Schedule(NamedTuple):
    """[train]: how much local work a round is, for every method alike."""

    batch_size: int
    steps: int | None = None  # mini-batches a round …
    epochs: int | None = None  # … or passes over the client's training data
    milestones: tuple[int, ...] = ()  # rounds after which the learning rate is multiplied by decay
    decay: float = 0.1

    def factor(self, round: int) -> float:
        """The learning-rate factor of a round (rounds count from 1)."""
        return float(self.decay ** sum(round > milestone for milestone in self.milestones))


@dataclass(frozen=True)
class LocalData:
    """The Data protocol over one client's rows of a population."""

    info: ClientInfo
    model: Model
    key: Key
    population: Population
    runtime: Scanner
    schedule: Schedule

    def pooled(self, population: Population) -> "LocalData":
        """The same with everybody's training data, those of ``population.pooled()``."""
        labels = population.y[torch.from_numpy(population.train[self.info.client])]
        counts = self.info.histogram
        if self.info.classes:
            counts = torch.bincount(labels, minlength=self.info.classes).to(counts.dtype)
        info = self.info._replace(samples=len(labels), histogram=counts)
        return replace(self, info=info, population=population)

    @property
    def decay(self) -> float:
        return self.schedule.factor(self.key.round)

    @property
    def public(self) -> Tensor | None:
        return self.population.public

    @property
    def public_y(self) -> Tensor | None:
        return self.population.public_y

    def batches(
        self,
        draw: Literal["permuted", "uniform"] = "permuted",
        purpose: str = "batches",
        *,
        steps: int | None = None,
        epochs: int | None = None,
        beside: Tensor | None = None,
    ) -> Batches:
        planned = self._plan(draw, purpose, steps, epochs)
        batches = self._batches(planned)
        if beside is None:
            return batches
        return batches.beside(
            batches._replace(gather=lambda a, b: _take(beside, planned.index[a:b]))
        )

    def _plan(
        self, draw: str, purpose: str, steps: int | None, epochs: int | None
    ) -> batching.Plan:
        n, size, pad = self.info.samples, self.schedule.batch_size, self.model.pads
        rng = self.key.numpy(purpose)
        if steps is None and epochs is None:
            steps, epochs = self.schedule.steps, self.schedule.epochs
        if steps is None:
            return batching.epochs(n, size, epochs or 1, rng, pad=pad)
        if draw == "uniform":
            return batching.uniform(n, size, steps, rng, pad=pad)
        return batching.steps(n, size, steps, rng, pad=pad)

    def rows(self, tensors: tuple[Tensor, ...], size: int, steps: int, purpose: str) -> Batches:
        return _rows(self.runtime, self.model, tensors, size, steps, self.key.numpy(purpose))

    def whole(self, split: str) -> list[Batch]:
        rows = self._rows(split)
        return [
            Batch(*self._take(part), torch.full((len(part),), 1 / len(rows), dtype=self._dtype))
            for part in parts(rows)
        ]

    def score(
        self, view: Tree, split: str, predict: Predict = plain_prediction
    ) -> tuple[float, float]:
        return score(self.runtime, self.model, view, predict, self._rows(split), self._take)

    def measure(self, view: Tree, split: str, predict: Predict) -> dict[str, float]:
        """RMSE, AUC and the like on a split; {} where nothing applies."""
        rows, several = self._rows(split), self.info.classes > TWO
        if len(rows) == 0 or several:
            return {}
        with torch.inference_mode():
            told = [(predict(self.model, view, x), y) for x, y in map(self._take, parts(rows))]
            return measures(
                self.model.family, torch.cat([p for p, _ in told]), torch.cat([y for _, y in told])
            )

    @property
    def _dtype(self) -> torch.dtype:
        return dtype_of(self.model.initial)

    def _rows(self, split: str) -> Tensor:
        chosen: np.ndarray[tuple[int], np.dtype[np.int64]] = getattr(self.population, split)[
            self.info.client
        ]
        return torch.from_numpy(np.asarray(chosen))

    def _take(self, rows: Tensor) -> tuple[Tensor, Tensor]:
        return _take(self.population.x, rows), _take(self.population.y, rows)

    def _batches(self, planned: batching.Plan) -> Batches:
        rows = self._rows("train")
        weight = planned.weight.to(self._dtype)

        def gather(first: int, last: int) -> Tree:
            index = rows[planned.index[first:last]]
            return Batch(*self._take(index), weight[first:last])

        return Batches(self.runtime, self.model, len(planned.index), gather)


@dataclass(frozen=True)
class ServerTools:
    """The Server protocol."""

    key: Key
    models: Mapping[str, Model]
    public: Tensor | None
    public_y: Tensor | None
    runtime: Scanner
    schedule: Schedule

    @property
    def decay(self) -> float:
        return self.schedule.factor(self.key.round)

    def rows(
        self, model: Model, tensors: tuple[Tensor, ...], size: int, steps: int, purpose: str
    ) -> Batches:
        return _rows(self.runtime, model, tensors, size, steps, self.key.numpy(purpose))


def _rows(
    runtime: Scanner,
    model: Model,
    tensors: tuple[Tensor, ...],
    size: int,
    steps: int,
    rng: np.random.Generator,
) -> Batches:
    n = len(tensors[0])
    index = batching.uniform(n, min(size, n), steps, rng).index
    return Batches(
        runtime, model, steps, lambda a, b: tuple(_take(tensor, index[a:b]) for tensor in tensors)
    )


def _take(tensor: Tensor, index: Tensor) -> Tensor:
    return tensor.index_select(0, index.reshape(-1)).view(*index.shape, *tensor.shape[1:])
