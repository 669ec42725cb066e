"""A scikit-learn model among torch models: logistic regression by SGD, for methods that exchange
predictions.

    fedkin run --method comet --model mlr,sk_linear:Linear --set 'model.rule=turn'  # here

What it has learned are three arrays; the estimator is made anew from them each time, so nothing
hides in an object.
"""

from collections.abc import Iterator

import numpy as np
from sklearn.linear_model import SGDClassifier

from fedkin.core.model import LearnerBatch, State
from fedkin.transforms.black_box_models import Array


class Linear:
    """Features as one row a sample; soft targets as one weighted sample a class."""

    def __init__(self, shape: tuple[int, ...], classes: int, rate: float = 0.02) -> None:
        self.width, self.classes, self.rate = int(np.prod(shape)), classes, rate

    def start(self) -> State:
        """Zeros: all classes alike."""
        return {
            "coef": np.zeros((self.classes, self.width)),
            "intercept": np.zeros(self.classes),
            "seen": np.zeros(1),
        }

    def fit(self, state: State, batches: Iterator[LearnerBatch]) -> State:
        """Private samples with their labels; public ones once a class, weighted by the target's
        probability.
        """
        model = self._model(state)
        every = np.arange(self.classes)
        for batch in batches:
            x, y, weight = self._rows(batch.x), batch.y, np.full(len(batch.y), 1.0)
            if batch.public is not None and batch.target is not None:
                share = (
                    batch.pull * len(batch.y) / len(batch.public)
                )  # a mean of each counts 1 and ``pull``
                x = np.concatenate([x, np.repeat(self._rows(batch.public), self.classes, axis=0)])
                y = np.concatenate([y, np.tile(every, len(batch.public))])
                weight = np.concatenate([weight, share * batch.target.reshape(-1)])
            model.partial_fit(x, y, classes=every, sample_weight=weight)
        return {"coef": model.coef_, "intercept": model.intercept_, "seen": np.array([model.t_])}

    def predict(self, state: State, x: Array) -> Array:
        """Probabilities [n, classes]; even ones before it has seen a sample."""
        if not state["seen"][0]:
            return np.full((len(x), self.classes), 1 / self.classes)
        found: Array = self._model(state).predict_proba(self._rows(x))
        return found

    def _model(self, state: State) -> SGDClassifier:
        model = SGDClassifier(
            loss="log_loss",
            learning_rate="constant",
            eta0=self.rate,
            alpha=0.0,
            shuffle=False,
            random_state=0,
        )
        if state["seen"][0]:
            every = np.arange(self.classes)
            model.partial_fit(
                np.zeros((self.classes, self.width)), every, classes=every
            )  # makes its fields
            model.coef_, model.intercept_ = (
                state["coef"].astype(float),
                state["intercept"].astype(float),
            )
            model.t_ = float(state["seen"][0])
        return model

    def _rows(self, x: Array) -> Array:
        return x.reshape(len(x), -1).astype(float)
