"""Cross-validation of the ways to share: every row is predicted by models that have not seen it.

In each fold one other fold chooses settings (and which way to share is best), so that the fold
itself has no say in what it is predicted by: the best of many ways gains nothing from having been
looked for.
"""

from typing import NamedTuple

import numpy as np

from fedkin.core.rng import Key
from fedkin.doctor.features import Floats, Ints, Rows, folds_of
from fedkin.doctor.fits import FEDERATED, WAYS, Products, fits, products
from fedkin.runtime.progress import report_progress

FOLDS, SEEDS = 5, 3
PROGRESS = "comparing ways to share"
BEST = "federated"  # whichever way the other folds choose


class CrossValidation(NamedTuple):
    """``predicted``: {way: [seeds, n, outputs]}; ``chosen``: how often each federated way was the
    best, a share; ``constant``: [seeds, n, outputs] the mean of the client's other folds.
    """

    predicted: dict[str, Floats]
    chosen: dict[str, float]
    constant: Floats


def cross_validate(rows: Rows, seed: int, seeds: int = SEEDS) -> CrossValidation | None:
    """Out-of-fold predictions of each way, and of the federated way that the other folds choose.

    Args:
        rows: The rows of all clients.
        seed: Draws the folds.
        seeds: How many divisions into FOLDS folds are made.

    Returns:
        Predictions [seeds, n, outputs] of each way, and how often each federated way was chosen,
        shares in 0..1. None where a fold has no rows: nothing would be chosen by it.
    """
    folds = [folds_of(rows, FOLDS, Key(seed, k).numpy("doctor folds")) for k in range(seeds)]
    if any(len(np.unique(fold)) < FOLDS for fold in folds):
        return None
    predictions = {way: np.zeros((seeds, *rows.target.shape)) for way in (*WAYS, BEST)}
    constant = np.zeros((seeds, *rows.target.shape))
    wins = dict.fromkeys(FEDERATED, 0)
    report_progress(PROGRESS, 0, seeds * FOLDS)
    for repeat, fold in enumerate(folds):
        of = {view: _by_fold(rows, view, fold) for view in rows.views}
        for out in range(FOLDS):
            aside = (out + 1) % FOLDS
            chosen = _choose(rows, of, fold, out, aside, seed)
            for way, models in _refit(rows, of, out, chosen, seed).items():
                here = fold == out
                predictions[way][repeat][here] = _predict(
                    rows.views[chosen[way].view][here], models, rows.owner[here]
                )
            best = min(
                (way for way in FEDERATED if way in chosen), key=lambda way: chosen[way].error
            )
            predictions[BEST][repeat][fold == out] = predictions[best][repeat][fold == out]
            wins[best] += 1
            means = _means(_training(of[chosen[best].view], (out,)))
            constant[repeat][fold == out] = means[rows.owner[fold == out]]
            report_progress(PROGRESS, repeat * FOLDS + out + 1, seeds * FOLDS)
    known = [way for way in predictions if way == BEST or way in chosen]
    return CrossValidation(
        {way: predictions[way] for way in known},
        {way: n / (seeds * FOLDS) for way, n in wins.items()},
        constant,
    )


class _Chosen(NamedTuple):
    view: str
    setting: str
    error: float


def _by_fold(rows: Rows, view: str, fold: Ints) -> list[Products]:
    x, clients = rows.views[view], len(rows.clients)
    return [
        products(x[fold == f], rows.target[fold == f], rows.owner[fold == f], clients)
        for f in range(FOLDS)
    ]


def _training(of: list[Products], without: tuple[int, ...]) -> Products:
    left = [p for f, p in enumerate(of) if f not in without]
    xx, xy, n = (np.sum(parts, 0) for parts in zip(*left, strict=True))
    return Products(xx, xy, n)


def _means(p: Products) -> Floats:
    """[clients, outputs]: of each client's targets; who has no row has the mean of all."""
    sums = p.xy[:, -1]  # the last column of x is 1
    return np.where(p.n[:, None] > 0, sums / np.maximum(p.n, 1)[:, None], sums.sum(0) / p.n.sum())


def _choose(
    rows: Rows, of: dict[str, list[Products]], fold: Ints, out: int, aside: int, seed: int
) -> dict[str, _Chosen]:
    """Each way's best view and setting by the mean over clients of the squared error on the fold
    ``aside``.
    """
    here = fold == aside
    target, owner = rows.target[here], rows.owner[here]
    sizes = np.bincount(owner, minlength=len(rows.clients))
    best: dict[str, _Chosen] = {}
    for view in rows.views:
        x = rows.views[view][here]
        for one in fits(_training(of[view], (out, aside)), seed):
            missed = ((_predict(x, one.models, owner) - target) ** 2).sum(1)
            each = (
                np.bincount(owner, weights=missed, minlength=len(sizes))[sizes > 0]
                / sizes[sizes > 0]
            )
            error = float(each.mean())
            if one.way not in best or error < best[one.way].error:
                best[one.way] = _Chosen(view, one.setting, error)
    return best


def _refit(
    rows: Rows, of: dict[str, list[Products]], out: int, chosen: dict[str, _Chosen], seed: int
) -> dict[str, Floats]:
    """The chosen settings, fitted on all folds but ``out``."""
    models_of: dict[str, Floats] = {}
    for view in rows.views:
        wanted = {way: one.setting for way, one in chosen.items() if one.view == view}
        if not wanted:
            continue
        for one in fits(_training(of[view], (out,)), seed):
            if wanted.get(one.way) == one.setting:
                models_of[one.way] = one.models
    return models_of


def _predict(x: Floats, models: Floats, owner: Ints) -> Floats:
    """[n, outputs]: each row by its client's model."""
    predictions = np.empty((len(x), models.shape[2]))
    for k in np.unique(owner):
        predictions[owner == k] = x[owner == k] @ models[k]
    return predictions
