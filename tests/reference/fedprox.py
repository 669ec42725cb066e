"""FedProx, with plain loops: Li et al. 2020, Algorithm 2, the local problem solved by SGD, means by
samples.
"""

from collections.abc import Mapping, Sequence

from tests.reference.local_fedavg import Plan
from tests.reference.model import (
    Batch,
    Client,
    Gradient,
    Params,
    Snapshot,
    at,
    batch_gradient,
    combine,
    copy,
    size,
)


def proximal(
    v: Params,
    anchor: Params,
    client: Client,
    batches: Sequence[Batch],
    lr: float,
    pull: float,
    gradient: Gradient = batch_gradient,
) -> Params:
    """v <- v - lr (∇f(v) + pull (v - anchor)) on each mini-batch in turn; the anchor
    stands still.
    """
    v = copy(v)
    for batch in batches:
        slope = gradient(v, client, batch)
        for name in v:
            v[name] = v[name] - lr * (slope[name] + pull * (v[name] - anchor[name]))
    return v


def fedprox(
    start: Params,
    data: Mapping[int, Client],
    plan: Plan,
    participants: Sequence[Sequence[int]],
    lr: float | Sequence[float],
    mu: float,
    gradient: Gradient = batch_gradient,
) -> list[Snapshot]:
    """Snapshot: {"server": {"model": params}, "uploads": {k: params of the participants}}."""
    w = copy(start)
    history: list[Snapshot] = []
    for t in range(len(plan)):
        uploads = {
            k: proximal(w, w, data[k], plan[t][k], at(lr, t), mu, gradient) for k in participants[t]
        }
        total = sum(size(data[k]) for k in participants[t])
        w = combine(
            [uploads[k] for k in participants[t]], [size(data[k]) / total for k in participants[t]]
        )
        history.append({"server": {"model": copy(w)}, "uploads": uploads})
    return history
