"""FedBABU with plain loops. Oh, Kim & Yun 2022, Algorithm 1: bodies are trained under one fixed
head and averaged by samples; at the end every client trains `names` (full, head or body) at home.

Held against junhyeog/FedBABU, a copy of jhoon-oh/FedBABU (the authors'): main_fed.py and
models/Update.py at 1be055c, analysis.ipynb at 04ecbeb; and TsingZ0/PFLlib: clientbabu.py at
0bcc465, serverbabu.py at 0c46403.
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
        # main_fed: local_upt_part "body" is Update.train with body_lr = lr and head_lr = 0
        sent = [trained(w, data[k], plan[t][k], body, at(lr, t)) for k in who]
        # serverbabu.receive_models: by samples (main_fed divides by m, as weights = "uniform")
        total = sum(size(data[k]) for k in who)
        w = combine(sent, [size(data[k]) / total for k in who])
        for name in head:
            # nobody trained it: main_fed's update_keys, aggr_part "body", are all but the head's
            assert abs(w[name] - start[name]).max() < 1e-12
        history.append({"model": copy(w)})
    # analysis.ipynb: then every user trains body and head; clientbabu.fine_tune: which_module
    return history, {k: trained(w, data[k], last_plan[k], tuned, last_lr) for k in data}
