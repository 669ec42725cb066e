"""The measures of ``fedkin.core.measures``, computed at the client from its own predictions.

The definitions are scikit-learn's. The calibration error, which it has not, is that of Guo et al.
(2017): 15 equal bins of the largest probability. What is not defined (AUC where labels are of one
class) is missing.
"""

import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from fedkin.core.family import POISSON, Family
from fedkin.core.measures import IN_SCORES, TWO, kind_of, suited
from fedkin.core.system.user_code import is_user_code
from fedkin.core.system.user_measures import own_value

__all__ = [
    "Predicted",
    "from_scores",
    "measure",
    "measures",
    "predicted",
    "standard_error",
    "standard_error_of_share",
    "threshold",
]

Floats = NDArray[np.float64]
BINS = 15  # of the calibration error
DRAWS = 100  # bootstrap samples of a client's own rows, for a standard error


class Predicted(NamedTuple):
    """Class probabilities [n, classes] (means [n, 1] of numbers) and labels [n]; ``threshold``: of
    class 1 of two.
    """

    p: Floats
    y: NDArray[Any]
    threshold: float = 0.5

    def rows(self, chosen: NDArray[np.int64]) -> "Predicted":
        """The same of some rows.

        Args:
            chosen: Row numbers; a row may come twice, as a bootstrap has it.

        Returns:
            With the same threshold.
        """
        return Predicted(self.p[chosen], self.y[chosen], self.threshold)

    @property
    def best(self) -> NDArray[np.int64]:
        """The most likely class."""
        best: NDArray[np.int64] = self.p.argmax(1)
        return best


def predicted(family: Family, predictions: Tensor, y: Tensor) -> Predicted:
    """From what a method predicts: log-probabilities [n, classes], or means [n, 1]; y [n].

    Args:
        family: What predictions are.
        predictions: As ``Method.predict`` returns them.
        y: Labels.

    Returns:
        In double precision, on the CPU.
    """
    values = predictions.double().numpy()
    return Predicted(np.exp(values) if family.classes else values, y.numpy())


def from_scores(family: Family, name: str, loss: float) -> float | None:
    """The measures that follow from the mean loss alone, so that nobody predicts for them; None for
    the others.

    Args:
        family: What predictions are.
        name: Of the measure.
        loss: The mean over a split.

    Returns:
        In the measure's own unit.
    """
    if name == "perplexity":
        return math.exp(min(loss, 700.0)) if math.isfinite(loss) else loss
    if name == "rmse" and family.name == "gaussian":
        return math.sqrt(2 * loss) if loss >= 0 else loss
    return None


def measures(
    family: Family, predicted: Predicted, text: bool = False, chosen: str = ""
) -> dict[str, float]:
    """{name: value} of everything that is defined for these labels; ``text``: labels are the
    symbols of a text.

    Args:
        family: What predictions are.
        predicted: Predictions and labels of one split.
        text: Whether labels are the symbols of a text.
        chosen: The experiment's measure, which may be of one's own.

    Returns:
        {} where there are no samples.
    """
    if not len(predicted.y):
        return {}
    kind = kind_of(predicted.p.shape[1] if family.classes else 0, text)
    names = [name for name in suited(kind) if name not in IN_SCORES]
    names += [chosen] if is_user_code(chosen) else []
    return {
        name: value for name in names if (value := measure(family, name, predicted)) is not None
    }


def measure(family: Family, name: str, predicted: Predicted) -> float | None:
    """One measure; None where it is not defined, or a prediction is no number.

    Args:
        family: What predictions are.
        name: Of the measure.
        predicted: Predictions and labels of one split.

    Returns:
        In the measure's own unit.
    """
    if not len(predicted.y) or not np.isfinite(predicted.p).all():
        return None
    if is_user_code(name):
        return own_value(name, predicted.p, predicted.y)
    if name == "deviance":
        return _poisson(predicted) if family.name == POISSON.name else _squared(predicted)
    value = OF[name](predicted)
    return None if value is None else float(value)


def standard_error(family: Family, name: str, predicted: Predicted) -> float | None:
    """By bootstrap over the rows, the same draws at each call; None where it is undefined.

    Args:
        family: What predictions are.
        name: Of the measure.
        predicted: Predictions and labels of one split.

    Returns:
        In the measure's own unit.
    """
    if len(predicted.y) < TWO:
        return None
    rng = np.random.default_rng(0)
    drawn = (
        measure(family, name, predicted.rows(rng.integers(len(predicted.y), size=len(predicted.y))))
        for _ in range(DRAWS)
    )
    values = [value for value in drawn if value is not None]
    return float(np.std(values, ddof=1)) if len(values) >= DRAWS // 2 else None


def standard_error_of_share(share: float, rows: int) -> float:
    """Standard error of a share, such as an accuracy, by Agresti and Coull (1998): with two rows
    more of either outcome, it is above 0 where all of a few rows are right.

    Args:
        share: In 0..1.
        rows: How many it was found on.

    Returns:
        In 0..1.
    """
    likely = (share * rows + 2) / (rows + 4)
    return math.sqrt(likely * (1 - likely) / (rows + 4))


def threshold(predicted: Predicted) -> float:
    """The probability of class 1 from which on sensitivity + specificity is greatest; 0.5 where it
    is undefined.

    Args:
        predicted: Predictions and labels of two classes, of validation data.

    Returns:
        Half-way between two scores, in 0..1.
    """
    positive = predicted.y == 1
    if (
        not len(predicted.y)
        or positive.all()
        or not positive.any()
        or not np.isfinite(predicted.p).all()
    ):
        return 0.5
    values, place = np.unique(predicted.p[:, 1], return_inverse=True)
    ones, zeros = (
        np.bincount(place[of], minlength=len(values))[::-1] for of in (positive, ~positive)
    )
    values = values[::-1]  # from the greatest down, as what is counted of each
    sensitivity = np.cumsum(ones) / ones.sum()
    specificity = (zeros.sum() - np.cumsum(zeros)) / zeros.sum()
    at = int(np.argmax(np.round(sensitivity + specificity, 12)))
    below = values[at + 1] if at + 1 < len(values) else 0.0
    # between two scores, so that a rounding does not change who is above it
    return float((values[at] + below) / 2)


def _accuracy(predicted: Predicted) -> float:
    return float((predicted.best == predicted.y).mean())


def _balanced(predicted: Predicted) -> float:
    return float(
        np.mean([(predicted.best[predicted.y == c] == c).mean() for c in np.unique(predicted.y)])
    )


def _macro_f1(predicted: Predicted) -> float:
    best = predicted.best
    values = []
    for c in np.union1d(predicted.y, best):
        both = int(((best == c) & (predicted.y == c)).sum())
        values.append(2 * both / (int((best == c).sum()) + int((predicted.y == c).sum())))
    return float(np.mean(values))


def _each_class(
    predicted: Predicted, of: Callable[[Floats, NDArray[np.bool_]], float]
) -> float | None:
    """Of two classes that of class 1; of several the mean over the classes that occur, one against
    the rest.
    """
    present = [1] if predicted.p.shape[1] == TWO else [int(c) for c in np.unique(predicted.y)]
    usable = [c for c in present if 0 < int((predicted.y == c).sum()) < len(predicted.y)]
    return (
        float(np.mean([of(predicted.p[:, c], predicted.y == c) for c in usable]))
        if usable
        else None
    )


def _area(scores: Floats, positive: NDArray[np.bool_]) -> float:
    """The Mann-Whitney statistic over the number of pairs: equal scores count half."""
    ones, zeros = int(positive.sum()), int((~positive).sum())
    return float((_ranks(scores)[positive].sum() - ones * (ones + 1) / 2) / (ones * zeros))


def _ranks(scores: Floats) -> Floats:
    """Ranks from 1 on, equal scores share their mean (scipy.stats.rankdata, which takes a second
    to load).
    """
    _, place, counts = np.unique(scores, return_inverse=True, return_counts=True)
    ranks: Floats = (np.cumsum(counts) - (counts - 1) / 2)[place]
    return ranks


def _average_precision(scores: Floats, positive: NDArray[np.bool_]) -> float:
    """Σ (recall − the one before) · precision, over falling thresholds."""
    order = np.argsort(-scores, kind="stable")
    hits = np.cumsum(positive[order])
    # of runs of equal scores
    ends = np.append(np.flatnonzero(np.diff(scores[order])), len(scores) - 1)
    precision, recall = hits[ends] / (ends + 1), hits[ends] / hits[-1]
    return float((np.diff(recall, prepend=0.0) * precision).sum())


def _log_loss(predicted: Predicted) -> float:
    return float(
        -np.log(
            np.maximum(predicted.p[np.arange(len(predicted.y)), predicted.y], np.finfo(float).tiny)
        ).mean()
    )


def _brier(predicted: Predicted) -> float:
    """Of two classes the squared error of the probability of class 1, of several the sum over the
    classes.
    """
    if predicted.p.shape[1] == TWO:
        return float(((predicted.p[:, 1] - predicted.y) ** 2).mean())
    apart = predicted.p.copy()
    apart[np.arange(len(predicted.y)), predicted.y] -= 1.0
    return float((apart**2).sum(1).mean())


def _calibration(predicted: Predicted) -> float:
    sure, right = predicted.p.max(1), predicted.best == predicted.y
    bins = np.clip(np.ceil(sure * BINS).astype(int) - 1, 0, BINS - 1)
    apart = np.bincount(bins, weights=right.astype(float) - sure, minlength=BINS)
    return float(np.abs(apart).sum() / len(sure))


def _sensitivity(predicted: Predicted) -> float | None:
    positive = predicted.y == 1
    return (
        float((predicted.p[positive, 1] >= predicted.threshold).mean()) if positive.any() else None
    )


def _specificity(predicted: Predicted) -> float | None:
    negative = predicted.y != 1
    return (
        float((predicted.p[negative, 1] < predicted.threshold).mean()) if negative.any() else None
    )


def _error(predicted: Predicted) -> Floats:
    apart: Floats = predicted.p[:, 0] - predicted.y.astype(np.float64)
    return apart


def _squared(predicted: Predicted) -> float:
    return float((_error(predicted) ** 2).mean())


def _poisson(predicted: Predicted) -> float | None:
    """Twice the log-likelihood ratio to a model that predicts every label."""
    mean, y = predicted.p[:, 0], predicted.y.astype(np.float64)
    if (mean <= 0).any() or (y < 0).any():
        return None
    ratio = np.where(y > 0, y * np.log(np.where(y > 0, y, 1.0) / mean), 0.0)
    return float(2 * (ratio - y + mean).mean())


def _r2(predicted: Predicted) -> float | None:
    y = predicted.y.astype(np.float64)
    if len(y) < TWO:
        return None
    left, total = float((_error(predicted) ** 2).sum()), float(((y - y.mean()) ** 2).sum())
    if total == 0:
        return 1.0 if left == 0 else 0.0
    return 1 - left / total


OF: Mapping[str, Callable[[Predicted], float | None]] = {
    "accuracy": _accuracy,
    "balanced_accuracy": _balanced,
    "macro_f1": _macro_f1,
    "auc": lambda found: _each_class(found, _area),
    "average_precision": lambda found: _each_class(found, _average_precision),
    "log_loss": _log_loss,
    "perplexity": lambda found: math.exp(min(_log_loss(found), 700.0)),
    "brier": _brier,
    "ece": _calibration,
    "sensitivity": lambda found: _sensitivity(found) if found.p.shape[1] == TWO else None,
    "specificity": lambda found: _specificity(found) if found.p.shape[1] == TWO else None,
    "rmse": lambda found: math.sqrt(_squared(found)),
    "mae": lambda found: float(np.abs(_error(found)).mean()),
    "r2": _r2,
}
