"""FedAS with plain loops. Yang, Huang & Ye 2024: parameter alignment, then local SGD of body and
head; the server weighs bodies by the traces of their Fisher information.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from tests.reference.fedproto import own_prototypes
from tests.reference.headed import HEAD, backward, features
from tests.reference.local_fedavg import Plan, train
from tests.reference.model import (
    Client,
    Params,
    Snapshot,
    at,
    batch_gradient,
    combine,
    copy,
    size,
)


def trace(w: Params, client: Client) -> float:
    """E ‖∇_θ log p(y|x)‖², one sample after the other."""
    total = 0.0
    for i in range(size(client)):
        slope = batch_gradient(w, client, (np.array([i]), np.ones(1)))
        total += sum(float(np.sum(v**2)) for name, v in slope.items() if name not in HEAD)
    return total / size(client)


def fedas(
    start: Params,
    data: Mapping[int, Client],
    plan: Plan,
    align_plan: Plan,
    participants: Sequence[Sequence[int]],
    lr: Sequence[float],
    align_lr: Sequence[float],
) -> list[Snapshot]:
    """{"body": θ, "own": {k: w_k}, "traces": {k: tr(F_k)}} after each round."""
    body = {name: np.array(v) for name, v in start.items() if name not in HEAD}
    own, busy = {k: copy(start) for k in data}, set()
    history: list[Snapshot] = []
    for t in range(len(plan)):
        traces = {}
        for k in participants[t]:
            w = {**copy(own[k]), **copy(body)}
            if k in busy:
                means, _ = own_prototypes(own[k], data[k])
                for index, weight in align_plan[t][k]:
                    x, y = data[k]["x"][index], data[k]["y"][index]
                    h = features(w, x)
                    pull = np.zeros_like(h)
                    for i, label in enumerate(y):
                        if weight[i] > 0:
                            apart = h[i] - means[int(label)]
                            pull[i] = weight[i] * 2.0 * apart / h.shape[1]
                    slope = backward(w, x, np.zeros((len(y), len(w["out.bias"]))), pull)
                    w = {
                        n: v if n in HEAD else v - at(align_lr, t) * slope[n] for n, v in w.items()
                    }
            own[k] = train(w, data[k], plan[t][k], at(lr, t))
            traces[k] = trace(own[k], data[k])
        busy |= set(participants[t])
        whole = combine(
            [own[k] for k in traces], [v / sum(traces.values()) for v in traces.values()]
        )
        body = {name: whole[name] for name in body}
        deployed = {k: copy(w if k in busy else {**start, **body}) for k, w in own.items()}
        history.append({"body": copy(body), "own": deployed, "traces": traces})
    return history
