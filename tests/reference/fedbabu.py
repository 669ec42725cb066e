"""FedBABU with plain loops. Oh, Kim & Yun 2022, Algorithm 1: bodies are trained under one fixed
head and averaged by samples; at the end every client trains `names` (full, head or body) at home.
"""

from collections.abc import Mapping, Sequence

from tests.reference.local_fedavg import Plan
from tests.reference.model import (
    Batch,
    Client,
    Params,
    Snapshot,
    at,
    batch_gradient,
    combine,
    copy,
    size,
)
from tests.reference.partial_fl import move


def trained(
    w: Params, client: Client, batches: Sequence[Batch], names: Sequence[str], lr: float
) -> Params:
    for batch in batches:
        w = move(w, names, batch_gradient(w, client, batch), lr)
    return w


def fedbabu(
    start: Params,
    data: Mapping[int, Client],
    plan: Plan,
    participants: Sequence[Sequence[int]],
    head: Sequence[str],
    lr: Sequence[float],
    last_plan: Mapping[int, Sequence[Batch]],
    tuned: Sequence[str],
    last_lr: float,
) -> tuple[list[Snapshot], dict[int, Params]]:
    """({"model": the whole model} after each round, {k: client k's tuned model})."""
    w = copy(start)
    body = [name for name in w if name not in head]
    history: list[Snapshot] = []
    for t in range(len(plan)):
        who = participants[t]
        sent = [trained(w, data[k], plan[t][k], body, at(lr, t)) for k in who]
        total = sum(size(data[k]) for k in who)
        w = combine(sent, [size(data[k]) / total for k in who])
        for name in head:
            assert abs(w[name] - start[name]).max() < 1e-12  # nobody trained it
        history.append({"model": copy(w)})
    return history, {k: trained(w, data[k], last_plan[k], tuned, last_lr) for k in data}
