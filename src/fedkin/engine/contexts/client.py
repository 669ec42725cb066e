"""One client's data and tools during one round: what a method's ``client_update`` is given."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from fedkin.core.errors import FedkinError
from fedkin.core.measures import IN_SCORES, TWO, measure_named
from fedkin.core.method import ClientInfo, plain_prediction
from fedkin.core.model import Batch, Model
from fedkin.core.ops import Batches, BatchSampling, Scanner
from fedkin.core.rng import Key, Secret
from fedkin.core.tree import Params, Tree, dtype_of
from fedkin.data import batching
from fedkin.data.arrays import Array
from fedkin.data.population import Population
from fedkin.data.validation import TOKENS
from fedkin.engine.contexts.rows import drawn_batches, taken
from fedkin.engine.contexts.schedule import Schedule
from fedkin.engine.evaluation import Predict, parts, score
from fedkin.engine.measures import (
    Predicted,
    from_scores,
    measure,
    measures,
    predicted,
    standard_error,
    standard_error_of_share,
    threshold,
)


@dataclass(frozen=True)
class LocalData:
    """``ClientContext`` over one client's rows of a population."""

    info: ClientInfo
    model: Model
    key: Key
    population: Population
    runtime: Scanner
    schedule: Schedule
    chosen: str = ""  # the experiment's measure; "": none beside loss and accuracy
    secret: Secret | None = None
    trained: int | None = None  # the last round that trained, where key.round is not the next one

    def pooled(self, population: Population) -> "LocalData":
        """The same with everybody's training data, those of ``population.pooled()``.

        Args:
            population: Whose training rows of each client are everybody's.

        Returns:
            A copy; validation and test stay the client's own.
        """
        labels = population.y[torch.from_numpy(population.train[self.info.client])]
        counts = self.info.histogram
        if self.info.classes:
            counts = torch.bincount(labels, minlength=self.info.classes).to(counts.dtype)
        info = self.info._replace(samples=len(labels), histogram=counts)
        return replace(self, info=info, population=population)

    @property
    def rounds_before(self) -> int:
        """How many rounds had trained when this work began."""
        return self.key.round - 1 if self.trained is None else self.trained

    @property
    def decay(self) -> float:
        """This round's learning-rate factor, from the schedule in [train]."""
        return self.schedule.factor(self.rounds_before + 1)

    @property
    def public(self) -> Tensor | None:
        """The public set [public, …], without labels; None where there is none."""
        return self.population.public

    @property
    def public_y(self) -> Tensor | None:
        """The labels of the public set [public], where it has some."""
        return self.population.public_y

    def batches(
        self,
        draw: BatchSampling = "permuted",
        purpose: str = "batches",
        *,
        steps: int | None = None,
        epochs: int | None = None,
        beside: Tensor | None = None,
    ) -> Batches:
        """Mini-batches of private training data, as ``ClientContext.batches`` says.

        Args:
            draw: "permuted", "uniform" or "poisson".
            purpose: Names the random stream.
            steps: How many batches; None: what [train] says.
            epochs: How many passes instead.
            beside: [n_i, …], a row a training sample.

        Returns:
            Gathered from the shared table when they are scanned.
        """
        planned = self._plan(draw, purpose, steps, epochs)
        batches = self._batches(planned)
        if beside is None:
            return batches
        return batches.zip(batches._replace(gather=lambda a, b: taken(beside, planned.index[a:b])))

    def _plan(
        self, draw: str, purpose: str, steps: int | None, epochs: int | None
    ) -> batching.Plan:
        n, size, pad = self.info.samples, self.schedule.batch_size, self.model.pads
        if steps is None and epochs is None:
            steps, epochs = self.schedule.steps, self.schedule.epochs
        if draw == "poisson":
            steps = (epochs or 1) * -(-n // size) if steps is None else steps
            return batching.poisson(n, size, self._by_chance(purpose, steps, n))
        rng = self.key.numpy(purpose)
        if steps is None:
            return batching.epochs(n, size, epochs or 1, rng, pad=pad)
        if draw == "uniform":
            return batching.uniform(n, size, steps, rng, pad=pad)
        return batching.steps(n, size, steps, rng, pad=pad)

    def _by_chance(self, purpose: str, steps: int, n: int) -> Array:
        """Uniform numbers [steps, n] that nobody else knows."""
        if self.secret is None:
            raise FedkinError("[privacy] needs a secret to draw samples from: the client has none")
        return self.secret.uniform(purpose, self.key.round, steps * n).reshape(steps, n)

    def rows(self, tensors: tuple[Tensor, ...], size: int, steps: int, purpose: str) -> Batches:
        """Mini-batches of a public set, as ``ClientContext.rows`` says.

        Args:
            tensors: Of one first axis, [n, …] each.
            size: Rows of a batch.
            steps: How many batches.
            purpose: Names the random stream.

        Returns:
            With the optimizer of [train].
        """
        rng = self.key.numpy(purpose)
        drawn = drawn_batches(self.runtime, self.model, tensors, size, steps, rng)
        return drawn._replace(optimizer=self.schedule.optimizer)

    def whole(self, split: str) -> list[Batch]:
        """All samples of a split, as ``ClientContext.whole`` says.

        Args:
            split: "train", "val" or "test".

        Returns:
            Batches without padding.
        """
        rows = self._rows(split)
        return [
            Batch(*self._take(part), torch.full((len(part),), 1 / len(rows), dtype=self._dtype))
            for part in parts(rows)
        ]

    def score(
        self, view: Tree, split: str, predict: Predict = plain_prediction
    ) -> tuple[float, float]:
        """Loss and accuracy of what a client would deploy.

        Args:
            view: Parameters, or what the method predicts with.
            split: "train", "val" or "test".
            predict: The method's.

        Returns:
            (mean loss in nats or the labels' units, accuracy in 0..1); nan where the split is
            empty.
        """
        return score(self.runtime, self.model, view, predict, self._rows(split), self._take)

    def rank(self, w: Params, split: str) -> tuple[float, float]:
        """What a choice among parameters goes by, as ``ClientContext.rank`` says.

        Args:
            w: Parameters of this client's model.
            split: "train", "val" or "test".

        Returns:
            The least is the best; by accuracy where the experiment has no measure. (inf, inf) of a
            model that predicts no numbers: comparisons with NaN would have any place for it.
        """
        loss, accuracy = self.score(w, split)
        if math.isnan(loss) and len(self._rows(split)):
            return math.inf, math.inf
        if self.chosen in ("", "accuracy"):
            return (0.0 if math.isnan(accuracy) else -accuracy), loss
        measures = self.measure(w, plain_prediction, {split: loss}).get(split, {})
        value = measures.get(self.chosen, loss)
        up = self.chosen in measures and measure_named(self.chosen).higher
        return (-value if up else value), loss

    def rank_error(self, w: Params, split: str, rank: tuple[float, float]) -> float:
        """Standard error of what ``rank`` goes by, as ``ClientContext.rank_error`` says.

        Args:
            w: Parameters of this client's model.
            split: "train", "val" or "test".
            rank: What ``rank`` gave for them.

        Returns:
            Of an accuracy by Agresti and Coull's adjusted share, which is above 0 where all of a
            few samples are right; of other measures by bootstrap.
        """
        rows = len(self._rows(split))
        if rows == 0 or math.isinf(rank[0]):  # that of a model that diverged is no share
            return 0.0
        if self.chosen in ("", "accuracy"):
            return standard_error_of_share(-rank[0], rows) if self.model.family.classes else 0.0
        predictions = self._predicted(w, plain_prediction, (split,))[split]
        return standard_error(self.model.family, self.chosen, predictions) or 0.0

    def measure(
        self, view: Tree, predict: Predict, losses: Mapping[str, float]
    ) -> dict[str, dict[str, float]]:
        """{split: {name: value}} of the experiment's measure, for a round; {} where loss and
        accuracy say it.

        Args:
            view: What the client would deploy.
            predict: The method's.
            losses: Mean loss by split, which is enough for some measures.

        Returns:
            Of the splits in ``losses`` that have samples.
        """
        family, name = self.model.family, self.chosen
        if name in ("", *IN_SCORES):
            return {}
        known = {
            split: from_scores(family, name, loss)
            for split, loss in losses.items()
            if len(self._rows(split))
        }
        if all(value is not None for value in known.values()):
            return {split: {name: value} for split, value in known.items() if value is not None}
        predictions = self._predicted(view, predict, losses)
        values = {split: measure(family, name, one) for split, one in predictions.items()}
        return {split: {name: value} for split, value in values.items() if value is not None}

    def measures(self, view: Tree, predict: Predict) -> dict[str, dict[str, float]]:
        """{split: {name: value}} of every measure on validation and test, for a finished model.

        Beside them stand "threshold", which validation data chose, and "se": the standard error of
        the experiment's measure, where it is not an accuracy or a loss.

        Args:
            view: What the client would deploy.
            predict: The method's.

        Returns:
            {} of a split without samples.
        """
        family, text = self.model.family, self.population.x.dtype in TOKENS
        predictions = self._predicted(view, predict, ("val", "test"))
        by_split = {
            split: measures(family, one, text, self.chosen) for split, one in predictions.items()
        }
        for split, one in predictions.items():
            if self.info.classes == TWO and len(one.y):
                by_split[split]["threshold"] = one.threshold
            error = (
                standard_error(family, self.chosen, one)
                if self.chosen not in ("", *IN_SCORES)
                else None
            )
            if error is not None:
                by_split[split]["se"] = error
        return by_split

    def _predicted(
        self, view: Tree, predict: Predict, splits: Iterable[str]
    ) -> dict[str, Predicted]:
        """Predictions on each split, with the threshold that validation data choose where there are
        two classes.
        """
        predictions = {split: self._predict(view, split, predict) for split in splits}
        if self.info.classes != TWO:
            return predictions
        chosen = threshold(
            predictions["val"] if "val" in predictions else self._predict(view, "val", predict)
        )
        return {split: one._replace(threshold=chosen) for split, one in predictions.items()}

    def _predict(self, view: Tree, split: str, predict: Predict) -> Predicted:
        rows = self._rows(split)
        if len(rows) == 0:
            nothing = torch.zeros(0, max(self.info.classes, 1))
            return predicted(
                self.model.family, nothing, torch.zeros(0, dtype=self.population.y.dtype)
            )
        with torch.inference_mode():
            predictions = [
                (predict(self.model, view, x), y) for x, y in map(self._take, parts(rows))
            ]
            return predicted(
                self.model.family,
                torch.cat([p for p, _ in predictions]),
                torch.cat([y for _, y in predictions]),
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
        return taken(self.population.x, rows), taken(self.population.y, rows)

    def _batches(self, planned: batching.Plan) -> Batches:
        rows = self._rows("train")
        weight = planned.weight.to(self._dtype)

        def gather(first: int, last: int) -> Tree:
            index = rows[planned.index[first:last]]
            return Batch(*self._take(index), weight[first:last])

        optimizer = self.schedule.optimizer
        return Batches(self.runtime, self.model, len(planned.index), gather, optimizer=optimizer)
