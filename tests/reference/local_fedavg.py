"""local and FedAvg, with plain loops.

FedAvg: McMahan et al. 2017, Algorithm 1, as summarised in METHODS.md section 5: w <- sum_i p_i w_i
over the participants.
"""

from collections.abc import Mapping, Sequence

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
    step,
)

Plan = Sequence[Mapping[int, Sequence[Batch]]]


def train(
    params: Params,
    client: Client,
    batches: Sequence[Batch],
    lr: float,
    gradient: Gradient = batch_gradient,
) -> Params:
    """v <- v - lr * gradient on each mini-batch in turn: no momentum, no weight decay."""
    v = copy(params)
    for batch in batches:
        v = step(v, gradient(v, client, batch), lr)
    return v


def starts(start: Params | Mapping[int, Params], clients: Sequence[int]) -> dict[int, Params]:
    """One start for everybody (a parameter dict), or one per client ({k: parameter dict})."""
    if all(isinstance(name, str) for name in start):
        return {k: copy(start) for k in clients}  # type: ignore[arg-type]
    return {k: copy(start[k]) for k in clients}  # type: ignore[index]


def local(
    start: Params | Mapping[int, Params],
    data: Mapping[int, Client],
    plan: Plan,
    participants: Sequence[Sequence[int]],
    lr: float | Sequence[float],
    gradient: Gradient = batch_gradient,
) -> list[Snapshot]:
    """Every client trains alone. In round t the clients of participants[t] run the steps of
    plan[t]; the others stand still.

    Snapshot: {"server": {}, "personal": {k: params}}.
    """
    models = starts(start, list(data))
    history: list[Snapshot] = []
    for t in range(len(plan)):
        for k in participants[t]:
            models[k] = train(models[k], data[k], plan[t][k], at(lr, t), gradient)
        history.append({"server": {}, "personal": {k: copy(models[k]) for k in data}})
    return history


def fedavg(
    start: Params,
    data: Mapping[int, Client],
    plan: Plan,
    participants: Sequence[Sequence[int]],
    lr: float | Sequence[float],
    gradient: Gradient = batch_gradient,
    uniform: bool = False,
) -> list[Snapshot]:
    """Server sends w to the participants; each runs its mini-batches from w; w <- sum of w_k n_k /
    (sum of the participants' n); with ``uniform`` w <- sum of w_k / (number of participants).

    Snapshot: {"server": {"model": params}, "uploads": {k: params of the participants}, "personal":
    {}}: a FedAvg client keeps nothing.
    """
    w = copy(start)
    history: list[Snapshot] = []
    for t in range(len(plan)):
        uploads: dict[int, Params] = {}
        for k in participants[t]:
            uploads[k] = train(w, data[k], plan[t][k], at(lr, t), gradient)
        counts = [1 if uniform else size(data[k]) for k in participants[t]]
        w = combine([uploads[k] for k in participants[t]], [n / sum(counts) for n in counts])
        history.append({"server": {"model": copy(w)}, "uploads": uploads, "personal": {}})
    return history
