"""FedProto with plain loops. Tan et al. 2022, Algorithm 1 and equations 3 to 8: local loss
L_S + λ L_R, which draws each sample's features to its class's C̄^(j); then
C̄^(j) = Σ_i a_ij C_i^(j) / Σ_i a_ij.

Held against yuetan031/FedProto at cb3c41f: lib/update.py, lib/utils.py, exps/federated_main.py. The
page docs/methods/fedproto.md names what that code does otherwise.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from tests.reference.headed import drawn_gradient, features
from tests.reference.local_fedavg import Plan
from tests.reference.model import Client, Params, Snapshot, at, copy, step

Prototypes = dict[int, np.ndarray]


def own_prototypes(w: Params, client: Client) -> tuple[Prototypes, dict[int, int]]:
    h, y = features(w, client["x"]), client["y"]
    means, counts = {}, {}  # agg_func: the mean of a class's features
    for j in sorted({int(label) for label in y}):
        rows = [h[i] for i in range(len(y)) if y[i] == j]
        means[j], counts[j] = sum(rows) / len(rows), len(rows)
    return means, counts


def fedproto(
    start: Mapping[int, Params],
    data: Mapping[int, Client],
    plan: Plan,
    participants: Sequence[Sequence[int]],
    lr: Sequence[float],
    lam: float,
    count: str,
) -> list[Snapshot]:
    """{"own": {k: w_k}, "centroids": {j: C̄^(j)}, of the classes that have one} after each round."""
    own = {k: copy(start[k]) for k in data}
    centroids: Prototypes = {}
    history: list[Snapshot] = []
    for t in range(len(plan)):
        sums: dict[int, np.ndarray] = {}
        mass: dict[int, float] = {}
        for k in participants[t]:
            for batch in plan[t][k]:
                # federated_main: each model goes on from its own state; no parameters travel
                # update_weights_het: loss1 + ld * MSELoss, of each sample's features to its C̄
                slope = drawn_gradient(own[k], data[k], batch, centroids, lam)
                own[k] = step(own[k], slope, at(lr, t))
            means, counts = own_prototypes(own[k], data[k])
            for j in means:
                # proto_aggregation: the plain mean over the clients that have the class
                share = counts[j] if count == "samples" else 1
                sums[j] = sums.get(j, 0.0) + share * means[j]
                mass[j] = mass.get(j, 0.0) + share
        centroids = {**centroids, **{j: sums[j] / mass[j] for j in sums}}
        history.append({"own": {k: copy(w) for k, w in own.items()}, "centroids": dict(centroids)})
    return history


def log_predictions(w: Params, centroids: Prototypes, x: np.ndarray, classes: int) -> np.ndarray:
    """log softmax(−‖f(x) − C̄^(j)‖²) over the classes that have a prototype; −80 elsewhere.

    test_inference_new_het_lt: the class of the least MSE, among those the client has.
    """
    told = np.full((len(x), classes), -80.0)
    for i, h in enumerate(features(w, x)):
        apart = {j: float(np.sum((h - c) ** 2)) for j, c in centroids.items()}
        least = min(apart.values())
        total = least - np.log(sum(np.exp(least - d) for d in apart.values()))
        for j, d in apart.items():
            told[i, j] = max(total - d, -80.0)
    return told
