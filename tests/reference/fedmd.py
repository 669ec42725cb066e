"""FedMD (Li & Wang 2019, Algorithm 1) with plain loops.

Transfer learning: public data with labels, then private data. Each round: communicate and aggregate
class scores (the logits) on a subset of the public data, digest (match the mean, absolute error),
revisit (private data). Cut where the messages are: the scores are sent at the end of the round
before.

Held against the authors' code, diogenes0319/FedMD_clean: class FedMD of FedMD.py at 226c6bc,
generate_alignment_data of data_utils.py at a725e0e.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from tests.reference.ds_fl import Rows
from tests.reference.local_fedavg import Plan, starts, train
from tests.reference.model import (
    Client,
    Params,
    Snapshot,
    at,
    backward,
    copy,
    cross_entropy_gradient,
    logits,
    step,
)


def digest_loss(params: Params, x: np.ndarray, consensus: np.ndarray) -> float:
    """Mean over rows and classes of |score - consensus|: "mean_absolute_error" of model_logits."""
    return float(np.mean(np.abs(logits(params, x) - consensus)))


def digest_gradient(params: Params, x: np.ndarray, consensus: np.ndarray) -> Params:
    signs = np.sign(logits(params, x) - consensus)
    return backward(params, x, signs / signs.size)


def fedmd(
    start: Params | Mapping[int, Params],
    data: Mapping[int, Client],
    public: np.ndarray,
    labels: np.ndarray,
    plan: Plan,
    transfer_plan: Mapping[int, Rows],
    digest_plan: Sequence[Mapping[int, Rows]],
    subsets: Sequence[np.ndarray],
    lr: float | Sequence[float],
    public_lr: float | Sequence[float],
) -> list[Snapshot]:
    """subsets[t]: the rows that are scored at the end of round t. digest_plan[t][k]: positions
    within subsets[t - 1].

    Snapshot: {"consensus": what everybody received (None at first), "messages": {k: scores},
    "server": the next consensus, "personal": {k: params}}.
    """
    models = starts(start, list(data))
    consensus: np.ndarray | None = None
    history: list[Snapshot] = []
    for t in range(len(plan)):
        received, messages = consensus, {}
        for k in data:
            if t == 0:  # what the parties come with; __init__ then has 25 private epochs
                for rows in transfer_plan[k]:
                    even = np.full(len(rows), 1.0 / len(rows))
                    gradient = cross_entropy_gradient(models[k], public[rows], labels[rows], even)
                    models[k] = step(models[k], gradient, at(public_lr, t))
            else:
                assert consensus is not None
                chosen = public[subsets[t - 1]]  # collaborative_training: fit to logits
                for rows in digest_plan[t][k]:
                    gradient = digest_gradient(models[k], chosen[rows], consensus[rows])
                    models[k] = step(models[k], gradient, at(public_lr, t))
            # then model_classifier.fit on private_data
            models[k] = train(models[k], data[k], plan[t][k], at(lr, t))
            # the next round there begins with a new alignment set and everybody's scores of it
            messages[k] = logits(models[k], public[subsets[t]])
        total = np.zeros_like(messages[min(messages)])
        for scores in messages.values():
            total = total + scores
        consensus = total / len(messages)  # logits /= N_parties
        personal = {k: copy(models[k]) for k in data}
        history.append(
            {"consensus": received, "messages": messages, "server": consensus, "personal": personal}
        )
    return history
