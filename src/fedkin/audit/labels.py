"""Whether a client's message gives away how many samples of each class it has."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from fedkin.audit.losses import Observed
from fedkin.core.kinds import PARAMETERS, PREDICTIONS
from fedkin.core.tree import named_leaves
from fedkin.data.arrays import Array


class Inferred(NamedTuple):
    """What a message says of its sender's classes: scores [classes], by which kind of content."""

    kind: str
    scores: Array


def inferred(one: Observed, classes: int) -> Inferred | None:
    """What a message says of its sender's classes, a number each; None where it says nothing.

    Of predictions on the public set it is their mean. Of parameters it is the change of the last
    layer's bias, whose gradient is the mean of predictions less labels (Zhao, Mopuri & Bilen,
    2020, use the same sign). Of several models that were received it is the change from the nearest
    one, which is what the client trained.

    Args:
        one: What is seen of the client.
        classes: Of the data.

    Returns:
        Scores [classes], in no unit, higher for what it has more of.
    """
    for _, leaf in named_leaves(one.message.get(PREDICTIONS, {})):
        if isinstance(leaf, Tensor) and leaf.dim() == 2 and leaf.shape[1] == classes:
            probabilities = leaf.exp() if bool((leaf <= 0).all()) else leaf
            return Inferred(PREDICTIONS, probabilities.double().mean(0).numpy())
    before = dict(named_leaves(one.received.get(PARAMETERS, {})))
    inference = None
    for path, leaf in named_leaves(one.message.get(PARAMETERS, {})):
        base = before.get(path)
        if not isinstance(leaf, Tensor) or not isinstance(base, Tensor):
            continue
        if leaf.shape == (classes,) and base.shape[-1:] == leaf.shape:
            changes = (leaf - base).double().reshape(-1, classes)
            nearest = changes[int(changes.square().sum(1).argmin())]
            inference = Inferred(PARAMETERS, nearest.numpy())  # the last such layer is the head
    return inference


def correlation(scores: Mapping[int, Array], histograms: Tensor) -> float | None:
    """How well clients' scores follow what is special about their histograms.

    Args:
        scores: Client → scores [classes].
        histograms: Counts [clients, classes].

    Returns:
        The mean over clients of the correlation of both, each less its mean over clients; None of
        fewer than two clients, or where all say the same.
    """
    clients = sorted(scores)
    if len(clients) < 2:
        return None
    shares = histograms[torch.tensor(clients)].double()
    shares = shares / shares.sum(1, keepdim=True).clamp_min(1)
    truth = (shares - shares.mean(0)).numpy()
    deviations = np.stack([scores[client] for client in clients])
    deviations = deviations - deviations.mean(0)
    each = [
        np.corrcoef(a, b)[0, 1] for a, b in zip(deviations, truth, strict=True) if a.std() * b.std()
    ]
    return float(np.mean(each)) if each else None
