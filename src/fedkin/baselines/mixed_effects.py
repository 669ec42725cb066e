"""Mixed-effects models on pooled data (Laird & Ware, 1982; Breslow & Clayton, 1993), with
statsmodels (extra stats).
"""

import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from scipy import sparse

from fedkin.core.errors import FedkinError, unknown
from fedkin.core.family import FAMILIES
from fedkin.data.arrays import Ints
from fedkin.data.population import SPLITS, Population, Split

__all__ = ["MIXED", "Effects", "Mixed", "Slopes", "mixed_effects"]

Floats = npt.NDArray[np.float64]
Slopes = tuple[int, ...]
MIXED = ("gaussian", "bernoulli", "poisson")  # families
START = 0.6  # standard deviation that the variational fit starts from: statsmodels would draw it


class Effects(NamedTuple):
    """A fit: fixed effects [1 + columns] (intercept first), and each client's deviations [clients,
    1 + slopes].
    """

    fixed: Floats
    own: Floats


class Mixed(NamedTuple):
    """What ``mixed_effects`` found.

    slopes: the columns whose slopes differ between clients, as chosen by validation. effects: on
    the scale of standardised columns. predictions: split → one array a client, the means. scores:
    split → [clients, 2], loss and accuracy (nan for numbers), as a run's records have them.
    validation: candidate → mean validation loss.
    """

    slopes: Slopes
    effects: Effects
    predictions: dict[str, tuple[Floats, ...]]
    scores: dict[str, Floats]
    validation: dict[Slopes, float]


def mixed_effects(
    population: Population, family: str = "gaussian", slopes: Sequence[Sequence[int]] = ((),)
) -> Mixed:
    """A generalized linear model with fixed effects of all columns, and a random intercept a
    client.

    Args:
        population: The clients' samples: columns of numbers.
        family: gaussian (MixedLM, REML), bernoulli or poisson (posterior means of the variational
            Bayes fit).
        slopes: Candidates of columns that get a random slope, too; each is fitted to the training
            samples of all clients together, and the one with the lowest loss on their validation
            samples is taken (test samples have no say).

    Returns:
        The fit, what it predicts, and its scores on all splits.

    Raises:
        FedkinError: The labels are not for the family, there is no candidate, or a client has no
            validation samples to choose one by.

    Readings: columns are standardised by the training samples' mean and deviation, constant ones
    have no effect; a prediction is the inverse link of the fixed effects and the client's own, at
    their posterior means.
    """
    _check(population, family)
    candidates = [_candidate(population, columns) for columns in slopes]
    if not candidates:
        raise FedkinError("mixed_effects: slopes is empty: give candidates, such as [(), (0,)]")
    if len(candidates) > 1 and not all(len(rows) for rows in population.val):
        raise FedkinError(
            "mixed_effects chooses slopes by validation: every client needs validation samples"
        )
    x = _standardised(population)
    fits = {columns: _fit(population, x, family, columns) for columns in candidates}
    losses = {
        columns: _validation(population, x, family, columns, fit) for columns, fit in fits.items()
    }
    best = (
        min(candidates, key=lambda columns: losses[columns])
        if len(candidates) > 1
        else candidates[0]
    )
    found: dict[str, tuple[Floats, ...]] = {
        split: _predictions(population, x, family, best, fits[best], split) for split in SPLITS
    }
    scores: dict[str, Floats] = {
        split: _scores(population, family, found[split], split) for split in SPLITS
    }
    return Mixed(best, fits[best], found, scores, losses)


def _check(population: Population, family: str) -> None:
    if family not in MIXED:
        raise unknown("family of mixed_effects", family, MIXED)
    y = population.y
    if family == "bernoulli" and population.classes != 2:
        raise FedkinError(
            f"mixed_effects: bernoulli needs two classes, {population.name} has "
            f"{population.classes}"
        )
    if family != "bernoulli" and population.task != "regression":
        raise FedkinError(
            f"mixed_effects: {family} needs labels that are numbers, {population.name} has classes"
        )
    if family == "poisson" and (bool((y < 0).any()) or bool((y != y.round()).any())):
        raise FedkinError(
            f"mixed_effects: poisson needs counts, {population.name} has other numbers"
        )


def _candidate(population: Population, columns: Sequence[int]) -> Slopes:
    many = population.x[0].numel()
    for column in columns:
        if not 0 <= column < many:
            raise FedkinError(
                f"mixed_effects: column {column} is not there: columns are 0 to {many - 1}"
            )
    return tuple(sorted(set(columns)))


def _standardised(population: Population) -> Floats:
    x = population.x.reshape(len(population.x), -1).numpy().astype(np.float64)
    train = x[np.concatenate(population.train)]
    deviation = train.std(axis=0)
    scaled: Floats = np.where(
        deviation > 0, (x - train.mean(axis=0)) / np.where(deviation > 0, deviation, 1.0), 0.0
    )
    return scaled


def _fit(population: Population, x: Floats, family: str, columns: Slopes) -> Effects:
    rows = np.concatenate(population.train)
    owner = np.repeat(np.arange(population.clients), population.sizes("train"))
    varying = np.flatnonzero(x[rows].any(axis=0))
    fixed, own = _with_one(x[rows][:, varying]), _with_one(x[rows][:, list(columns)])
    y = population.y.numpy()[rows].astype(np.float64)
    with warnings.catch_warnings():
        # a variance at its bound 0 is an answer, too: the clients are alike
        warnings.simplefilter("ignore")
        fit = _gaussian if family == "gaussian" else _bayes
        try:
            few, deviations = fit(_models()[family], y, fixed, own, owner)
        except np.linalg.LinAlgError:
            raise FedkinError(
                f"mixed_effects: columns of {population.name} determine each other, so that their "
                "effects cannot be told apart: leave one of them out with data.drop"
            ) from None
    effects = np.zeros(1 + x.shape[1])
    effects[[0, *(1 + varying)]] = few
    return Effects(effects, deviations)


def _gaussian(
    recipe: Any, y: Floats, fixed: Floats, own: Floats, owner: Ints
) -> tuple[Floats, Floats]:
    result = recipe(y, fixed, owner, own).fit(reml=True)
    return np.asarray(result.fe_params), np.stack(
        [np.asarray(result.random_effects[k]) for k in np.unique(owner)]
    )


def _bayes(
    recipe: Any, y: Floats, fixed: Floats, own: Floats, owner: Ints
) -> tuple[Floats, Floats]:
    clients, kinds = int(owner.max()) + 1, own.shape[1]
    at = np.arange(len(y))
    design = sparse.hstack(
        [sparse.csr_matrix((own[:, j], (at, owner)), (len(y), clients)) for j in range(kinds)]
    )
    kind = np.repeat(np.arange(kinds), clients)
    size = fixed.shape[1] + kinds + kinds * clients
    result = recipe(y, fixed, design.tocsr(), kind).fit_vb(
        mean=np.zeros(size), sd=np.full(size, START)
    )
    return np.asarray(result.fe_mean), np.asarray(result.vc_mean).reshape(kinds, clients).T


def _models() -> dict[str, Any]:
    """statsmodels' classes by family; imported late, because it is an extra."""
    try:
        from statsmodels.genmod.bayes_mixed_glm import BinomialBayesMixedGLM, PoissonBayesMixedGLM
        from statsmodels.regression.mixed_linear_model import MixedLM
    except ImportError:
        raise FedkinError(
            "mixed_effects needs statsmodels, the extra stats: in fedkin's checkout, "
            "pip install -c constraints.txt '.[stats]'"
        ) from None
    return {
        "gaussian": MixedLM,
        "bernoulli": BinomialBayesMixedGLM,
        "poisson": PoissonBayesMixedGLM,
    }


def _predictions(
    population: Population, x: Floats, family: str, columns: Slopes, effects: Effects, split: Split
) -> tuple[Floats, ...]:
    means = []
    for client, rows in enumerate(population.rows(split)):
        link = (
            _with_one(x[rows]) @ effects.fixed
            + _with_one(x[rows][:, list(columns)]) @ effects.own[client]
        )
        means.append(FAMILIES[family].mean(torch.from_numpy(link)[:, None])[:, 0].numpy())
    return tuple(means)


def _scores(population: Population, family: str, means: tuple[Floats, ...], split: Split) -> Floats:
    scores = np.full((population.clients, 2), np.nan)
    for client, mean in enumerate(means):
        y = population.part(client, split)[1]
        if len(y):
            scores[client, 0] = float(
                FAMILIES[family].nll_of_mean(torch.from_numpy(mean)[:, None], y).mean()
            )
            if family == "bernoulli":
                scores[client, 1] = float(((mean > 0.5) == y.numpy()).mean())
    return scores


def _validation(
    population: Population, x: Floats, family: str, columns: Slopes, effects: Effects
) -> float:
    means = _predictions(population, x, family, columns, effects, "val")
    sizes = population.sizes("val")
    losses = _scores(population, family, means, "val")[:, 0]
    return float(np.average(losses, weights=sizes)) if sizes.all() else float("nan")


def _with_one(x: Floats) -> Floats:
    return np.concatenate([np.ones((len(x), 1)), x], axis=1)
