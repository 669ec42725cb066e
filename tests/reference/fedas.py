"""FedAS with plain loops. Yang, Huang & Ye 2024: parameter alignment, then local SGD of body and
head; the server weighs bodies by the traces of their Fisher information.

Held against xiyuanyang45/FedAS at 3b85140: clients/clientas.py, servers/serveras.py. The page
docs/methods/fedas.md names what that code does otherwise.
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
    """E ‖∇_θ log p(y|x)‖², one sample after the other.

    clientas.train, after its epochs: in evaluation mode, ‖∇ of −log p(y|x)‖², the trained model;
    that of a mini-batch's mean, of all parameters, added up over mini-batches.
    """
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
            w = {**copy(own[k]), **copy(body)}  # set_parameters ends so: base received, head own
            if k in busy:
                # set_parameters: the mean features of each class, by the model before
                means, _ = own_prototypes(own[k], data[k])
                for index, weight in align_plan[t][k]:
                    x, y = data[k]["x"][index], data[k]["y"][index]
                    h = features(w, x)
                    pull = np.zeros_like(h)  # set_parameters: MSELoss to the own class's mean
                    for i, label in enumerate(y):
                        if weight[i] > 0:
                            apart = h[i] - means[int(label)]
                            pull[i] = weight[i] * 2.0 * apart / h.shape[1]
                    slope = backward(w, x, np.zeros((len(y), len(w["out.bias"]))), pull)
                    # set_parameters: SGD of model.base alone, before base is taken over
                    w = {
                        n: v if n in HEAD else v - at(align_lr, t) * slope[n] for n, v in w.items()
                    }
            own[k] = train(w, data[k], plan[t][k], at(lr, t))  # train: base and head together
            traces[k] = trace(own[k], data[k])
        busy |= set(participants[t])
        # serveras.aggregate_wrt_fisher: each model times its trace, over the sum of traces
        whole = combine(
            [own[k] for k in traces], [v / sum(traces.values()) for v in traces.values()]
        )
        body = {name: whole[name] for name in body}
        # serveras.train evaluates before it sends: a client's model as its training left it
        deployed = {k: copy(w if k in busy else {**start, **body}) for k, w in own.items()}
        history.append({"body": copy(body), "own": deployed, "traces": traces})
    return history
