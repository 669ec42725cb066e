"""What a server can tell of a client as a whole from its message: property inference.

Source: Melis, Song, De Cristofaro & Shmatikov: Exploiting unintended feature leakage in
collaborative learning, 2019. The properties here are of labels, which every data set has: whether a
client has a class at all, which one it has most of, and which clients are alike.
"""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from scipy.spatial.distance import pdist
from scipy.stats import spearmanr
from torch import Tensor

from fedkin.audit.guesses import separation
from fedkin.data.arrays import Array


class Properties(NamedTuple):
    """How well properties are inferred.

    has: AUC of whether a client has any sample of a class, 0.5 where nothing can be inferred; None
    where every client has every class. most: the share of clients whose most frequent class is
    inferred. chance: the same of always guessing the class that is most frequent with most clients.
    alike: rank correlation over pairs of clients, of how far their messages and their classes are
    apart; None of fewer than three clients. clients: how many.
    """

    has: float | None
    most: float
    chance: float
    alike: float | None
    clients: int


def properties(scores: Mapping[int, Array], histograms: Tensor) -> Properties | None:
    """What clients' scores tell of their properties.

    Args:
        scores: Client → a score a class [classes], higher for what it has more of.
        histograms: Counts [clients, classes].

    Returns:
        None of fewer than two clients.
    """
    clients = sorted(scores)
    if len(clients) < 2:
        return None
    counts = histograms.double().numpy()[clients]
    shares = counts / np.maximum(counts.sum(1, keepdims=True), 1)
    deviations = np.stack([scores[client] for client in clients])
    special = deviations - deviations.mean(0)  # what is common to all tells nothing of one
    there = counts > 0
    has = None if there.all() else separation(special[there], special[~there]).auc
    first = shares.argmax(1)
    most = float((_sized(special, shares).argmax(1) == first).mean())
    chance = float(np.bincount(first).max() / len(clients))
    return Properties(has, most, chance, _alike(deviations, shares), len(clients))


def _sized(special: Array, shares: Array) -> Array:
    """Scores in the unit of shares, around the shares of all clients together, which are no secret
    of one of them.
    """
    spread = special.std()
    scaled: Array = shares.mean(0) + special * (shares.std() / spread if spread else 0.0)
    return scaled


def _alike(deviations: Array, shares: Array) -> float | None:
    if len(deviations) < 3:
        return None
    apart, truth = pdist(deviations), pdist(shares)
    if apart.std() == 0 or truth.std() == 0:
        return None
    return float(spearmanr(apart, truth).statistic)
