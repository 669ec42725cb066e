"""FedTGP with plain loops. Zhang et al. 2024, Algorithm 1: a client descends
ℓ + λ E_c φ(P_i^c, P̂^c), in the authors' code MSELoss of each sample's features and its class's P̂;
the server trains F(P̊) by hand-written gradients of the contrast with margin.

Held against TsingZ0/FedTGP at 11b2297 (clienttgp.py) and, by the same author, TsingZ0/HtFLlib at
43b4ff7 (servertgp.py). The page docs/methods/fedtgp.md names what that code does otherwise.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from tests.reference.fedproto import Prototypes, own_prototypes
from tests.reference.headed import drawn_gradient
from tests.reference.local_fedavg import Plan
from tests.reference.model import Client, Params, Snapshot, at, copy, step


def generated(g: Params) -> np.ndarray:
    # Trainable_prototypes: an embedding, a linear layer with ReLU, a linear layer
    hidden = np.maximum(g["raw"] @ g["hidden.weight"].T + g["hidden.bias"], 0.0)
    return hidden @ g["out.weight"].T + g["out.bias"]


def slope(g: Params, points: Sequence[np.ndarray], labels: Sequence[int], delta: float) -> Params:
    """Of the mean contrast of a mini-batch."""
    made = generated(g)
    dmade = np.zeros_like(made)
    for point, label in zip(points, labels, strict=True):
        apart = np.array([np.sqrt(np.sum((point - row) ** 2)) for row in made])
        logits = -apart  # update_Gen: CEloss(-(dist + one_hot * margin), y), dist Euclidean
        logits[label] -= delta
        shares = np.exp(logits - logits.max())
        shares = shares / shares.sum()
        for c in range(len(made)):
            dlogit = (shares[c] - (c == label)) / len(points)
            dmade[c] += -dlogit * (made[c] - point) / apart[c]
    before = g["raw"] @ g["hidden.weight"].T + g["hidden.bias"]
    dbefore = (dmade @ g["out.weight"]) * (before > 0)
    return {
        "raw": dbefore @ g["hidden.weight"],
        "hidden.weight": dbefore.T @ g["raw"],
        "hidden.bias": dbefore.sum(axis=0),
        "out.weight": dmade.T @ np.maximum(before, 0.0),
        "out.bias": dmade.sum(axis=0),
    }


def margin(sent: Mapping[int, Prototypes], most: float) -> float:
    # receive_protos: of the means over the clients that have the class (proto_cluster)
    classes = sorted({c for told in sent.values() for c in told})
    q = {}
    for c in classes:
        rows = [told[c] for told in sent.values() if c in told]
        q[c] = sum(rows) / len(rows)
    widest = max(np.sqrt(np.sum((q[a] - q[b]) ** 2)) for a in classes for b in classes)
    return min(float(widest), most)  # update_Gen: min(max_gap, margin_threthold)


def fedtgp(
    start: Mapping[int, Params],
    first: Params,
    data: Mapping[int, Client],
    plan: Plan,
    orders: Sequence[np.random.Generator],
    participants: Sequence[Sequence[int]],
    lr: Sequence[float],
    lam: float,
    most: float,
    epochs: int,
    server_lr: float,
    batch: int,
) -> list[Snapshot]:
    """{"own": {k: w_k}, "centroids": {c: P̂^c}, of the classes that somebody sent, "generator"}."""
    own = {k: copy(start[k]) for k in data}
    g, known, centroids = copy(first), set(), {}
    history: list[Snapshot] = []
    for t in range(len(plan)):
        sent = {}
        for k in participants[t]:
            for rows in plan[t][k]:
                # clientTGP.train: loss + lamda * MSELoss to P̂ of the sample's class
                own[k] = step(
                    own[k], drawn_gradient(own[k], data[k], rows, centroids, lam), at(lr, t)
                )
            # collect_protos: in evaluation mode, the mean of a class's features
            sent[k], _ = own_prototypes(own[k], data[k])
        points = [(sent[k][c], c) for k in sent for c in sorted(sent[k])]
        delta = margin(sent, most)
        for _ in range(epochs):  # update_Gen: SGD over what was sent, shuffled, drop_last False
            order = orders[t].permutation(len(points))
            for first_row in range(0, len(points), batch):
                chosen = [points[i] for i in order[first_row : first_row + batch]]
                g = step(
                    g, slope(g, [p for p, _ in chosen], [c for _, c in chosen], delta), server_lr
                )
        known |= {c for _, c in points}
        centroids = {c: generated(g)[c] for c in sorted(known)}
        history.append(
            {"own": {k: copy(w) for k, w in own.items()}, "centroids": centroids, "generator": g}
        )
    return history
