"""Gradient inversion: samples that one update gives away.

A linear layer's gradient of one sample is an outer product, so that the row of a unit, divided by
its bias, is the sample itself; of several samples it is a mixture of those that move the unit.

Source: Phong, Aono, Hayashi, Wang & Moriai: Privacy-preserving deep learning via additively
homomorphic encryption, 2018, section 3.
"""

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from fedkin.audit.guesses import separation_in_clients
from fedkin.audit.losses import Observed
from fedkin.core.kinds import PARAMETERS
from fedkin.core.tree import named_leaves
from fedkin.data.arrays import Array

NEAR = 0.98  # correlation from which a sample counts as rebuilt
FAINT = 1e-4  # of the largest change of a bias: below, a row over it is rounding


class Rebuilt(NamedTuple):
    """Of each sample the best correlation with what was rebuilt, [n] and [k]: of those that were
    trained on, and of others of the same client.
    """

    members: Array
    others: Array


class Inverted(NamedTuple):
    """What updates give away.

    clients: whose could be inverted. closest: the best correlation, mean over clients. rebuilt:
    share of training samples with NEAR or more. chance: the same of samples that were not trained
    on. auc: of both correlations.
    """

    clients: int
    closest: float
    rebuilt: float
    chance: float
    auc: float


def rebuilt(one: Observed, members: Tensor, others: Tensor) -> Rebuilt | None:
    """What the update of one client gives away of its samples.

    Args:
        one: What is seen of the client.
        members: Samples that it trained on [n, …].
        others: Samples that it did not [k, …].

    Returns:
        None where its first layer is not linear, or it sends none.
    """
    rows = candidates(one, members[0].numel())
    if rows is None or len(rows) == 0:
        return None
    return Rebuilt(_best(rows, members), _best(rows, others))


def candidates(one: Observed, size: int) -> Tensor | None:
    """Samples as an update has them [units, size], up to scale; None without a layer of this size.

    Args:
        one: What is seen of the client.
        size: Numbers of a sample.

    Returns:
        Float64 [units, size], one row a unit whose bias moved enough; None: no such layer.
    """
    before = dict(named_leaves(one.received.get(PARAMETERS, {})))
    after = dict(named_leaves(one.message.get(PARAMETERS, {})))
    for path, leaf in after.items():
        bias = path.removesuffix("weight") + "bias"
        if not isinstance(leaf, Tensor) or leaf.dim() != 2 or leaf.shape[1] != size:
            continue
        if not path.endswith("weight") or bias not in after or bias not in before:
            continue
        if leaf.shape != before[path].shape:  # factors of an update
            continue
        rows = (leaf - before[path]).double()
        over = (after[bias] - before[bias]).double()
        known = over.abs() > FAINT * over.abs().max()
        samples: Tensor = rows[known] / over[known, None]
        return samples
    return None


def inverted(each: list[Rebuilt]) -> Inverted | None:
    """What the updates of several clients give away.

    Args:
        each: Of the clients whose update could be inverted.

    Returns:
        None of nobody.
    """
    if not each:
        return None
    members = np.concatenate([one.members for one in each])
    others = np.concatenate([one.others for one in each])
    apart = separation_in_clients(each)
    return Inverted(
        len(each),
        float(np.mean([one.members.max() for one in each])),
        float((members >= NEAR).mean()),
        float((others >= NEAR).mean()),
        apart.auc,
    )


def _best(rows: Tensor, samples: Tensor) -> Array:
    """The best correlation of each sample [n] with a candidate."""
    best: Array = (_standard(samples.flatten(1).double()) @ _standard(rows).T).amax(1).numpy()
    return best


def _standard(rows: Tensor) -> Tensor:
    """Rows without their mean, of length 1; zeros where nothing is left."""
    centred = rows - rows.mean(1, keepdim=True)
    length = centred.norm(dim=1, keepdim=True)
    return torch.where(length > 0, centred / length.clamp_min(1e-300), 0.0)
