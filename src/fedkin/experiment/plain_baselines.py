"""What stands beside the numbers of a run: the most frequent class (the mean), and own linear
models.

Both are of each client's training rows alone, and are measured on its test rows by the experiment's
measure. They need no federation; a run that does not beat them has gained nothing.
"""

import math
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from fedkin.core.family import FAMILIES, Family
from fedkin.data.population import Population
from fedkin.data.validation import TOKENS
from fedkin.engine.measures import Predicted, measure, threshold

Floats = NDArray[np.float64]
PULLS = (0.3, 3.0, 30.0, 300.0)  # ridge penalties, of which validation rows choose
STEEP = 4.0  # of the curve that makes probabilities of least-squares scores
# Rows · columns · the smaller of both, over all clients: beyond it some clients are left out
WORK = 2e9
FLAT = 1e-12  # a deviation beside the largest number of its column, that is rounding alone
LEAST = 1e-3  # of a probability, and of a mean that must be positive
TWO, HALF = 2, 0.5  # classes that have a threshold, and that of a client without validation rows
CONSTANT, LINEAR = "constant", "linear"


def plain_baselines(population: Population, name: str, family: str) -> dict[str, dict[str, float]]:
    """{"constant": {client: its measure on test}, "linear": the same}; clients where it is defined.

    Args:
        population: The clients' rows; test rows are used to measure, never to fit.
        name: The experiment's measure.
        family: What outputs mean, a name of ``FAMILIES``.

    Returns:
        Values in the measure's own unit; "linear" is missing where no client can have one.
    """
    of = FAMILIES[family]
    values: dict[str, dict[str, float]] = {CONSTANT: {}}
    fitted = _affordable(population)
    if fitted:
        values[LINEAR] = {}
    for client in range(population.clients):
        _, y = population.part(client, "test")
        if len(y):
            scores = np.repeat(_targets(population, client, "train").mean(0)[None], len(y), 0)
            _keep(values[CONSTANT], client, _measured(of, name, scores, y, whole=True))
    for client in fitted:
        _, y = population.part(client, "test")
        if len(y):
            held, scores = _ridge(population, client)
            _, known = population.part(client, "val")
            cut = _threshold(of, population.classes, held, known)
            _keep(values[LINEAR], client, _measured(of, name, scores, y, threshold=cut))
    return values


def _affordable(population: Population) -> list[int]:
    """The clients that have a linear model: all, or as many evenly spaced ones as the
    work allows.
    """
    if population.x.dtype in TOKENS:
        return []
    columns = math.prod(population.x.shape[1:])
    work = [n * columns * min(n, columns) for n in population.sizes("train").tolist()]
    total = sum(work)
    keep = population.clients if total <= WORK else int(population.clients * WORK / total)
    if not keep:
        return []
    return sorted({k * population.clients // keep for k in range(keep)})


def _numbers(population: Population, client: int, part: Any) -> Floats:
    x, _ = population.part(client, part)
    numbers: Floats = x.flatten(1).double().numpy()
    return numbers


def _targets(population: Population, client: int, part: Any) -> Floats:
    """One-hot classes [n, classes], or numbers [n, 1]."""
    _, y = population.part(client, part)
    if population.classes:
        hot = np.zeros((len(y), population.classes))
        hot[np.arange(len(y)), y.numpy()] = 1.0
        return hot
    targets: Floats = y.double().numpy()[:, None]
    return targets


def _ridge(population: Population, client: int) -> tuple[Floats, Floats]:
    """Scores [rows, outputs] on validation and on test, of the penalty that errs least on the
    client's validation rows.
    """
    x, target = _numbers(population, client, "train"), _targets(population, client, "train")
    middle, spread, mean = x.mean(0), x.std(0), target.mean(0)
    used = spread > FLAT * np.abs(x).max(0)
    if not used.any():
        sizes_of = len(population.val[client]), len(population.test[client])
        return np.repeat(mean[None], sizes_of[0], 0), np.repeat(mean[None], sizes_of[1], 0)

    def scaled(part: str) -> Floats:
        rows: Floats = (_numbers(population, client, part)[:, used] - middle[used]) / spread[used]
        return rows

    left, sizes, right = np.linalg.svd(scaled("train"), full_matrices=False)
    turned = left.T @ (target - mean)
    models = [right.T @ ((sizes / (sizes**2 + pull))[:, None] * turned) for pull in PULLS]
    val, wanted = scaled("val"), _targets(population, client, "val")
    errors = [float(((val @ w + mean - wanted) ** 2).sum()) for w in models]
    chosen = models[int(np.argmin(errors))] if len(val) else models[1]
    held: Floats = val @ chosen + mean
    tested: Floats = scaled("test") @ chosen + mean
    return held, tested


def _threshold(family: Family, classes: int, scores: Floats, y: torch.Tensor) -> float:
    """Of class 1 of two, that validation rows choose: as of every model of a run."""
    if not family.classes or classes != TWO:
        return HALF
    return threshold(Predicted(_shares(scores), y.numpy()))


def _shares(scores: Floats) -> Floats:
    """Probabilities [n, classes] of least-squares scores."""
    odds = np.exp(STEEP * np.clip(scores, -5, 5))
    shares: Floats = odds / odds.sum(1, keepdims=True)
    return shares


def _measured(
    family: Family,
    name: str,
    scores: Floats,
    y: torch.Tensor,
    whole: bool = False,
    threshold: float = HALF,
) -> float | None:
    """``whole``: scores are probabilities already; ``threshold``: of class 1 of two."""
    if not family.classes:
        means = np.maximum(scores, LEAST) if family.name == "poisson" else scores
        return measure(family, name, Predicted(means, y.numpy()))
    shares = np.maximum(scores, LEAST) if whole else _shares(scores)
    shares = shares / shares.sum(1, keepdims=True)
    return measure(family, name, Predicted(shares, y.numpy(), threshold))


def _keep(values: dict[str, float], client: int, value: float | None) -> None:
    if value is not None and math.isfinite(value):
        values[str(client)] = value
