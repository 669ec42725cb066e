"""FedPAC with plain loops. Xu, Tong & Huang 2023, Algorithm 1. The mixture of heads is found by
trying which clients take part in it: on each set the least is where P α is the same number for all.

Held against JianXu95/FedPAC at 7cf08f3: methods/fedpac.py, tools.py, and train_round_fedpac of
running.py.
"""

from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np

from tests.reference.fedproto import own_prototypes
from tests.reference.headed import HEAD, backward, drawn_gradient, features, scores
from tests.reference.local_fedavg import Plan
from tests.reference.model import (
    Client,
    Params,
    Snapshot,
    at,
    combine,
    copy,
    cross_entropy_dlogits,
    size,
)


def described(w: Params, client: Client, classes: int) -> tuple[np.ndarray, float]:
    """h [classes, d] and V: statistics_extraction, before the client trains."""
    n, f = size(client), features(w, client["x"])
    h, variance = np.zeros((classes, f.shape[1])), 0.0
    for c in range(classes):
        rows = [f[i] for i in range(n) if client["y"][i] == c]
        if rows:
            share, mean = len(rows) / n, sum(rows) / len(rows)
            h[c] = share * mean  # h_ref[k] = py[k] * feat_k_mu
            square = sum(float(row @ row) for row in rows) / len(rows)
            variance += share * square - share**2 * float(mean @ mean)
    return h, variance / n  # v = v / datasize


def mixture(h: Sequence[np.ndarray], variances: Sequence[float], i: int) -> np.ndarray:
    """α_i, by all sets of clients: tools.get_head_agg_weight, which asks a solver."""
    m = len(h)
    # p_matrix = diag(v) + dist, dist[j, k] = Σ_c (h_i,c − h_j,c) · (h_i,c − h_k,c)
    p = np.diag(np.array(variances, dtype=np.float64))
    for j in range(m):
        for k in range(m):
            p[j, k] += float(np.sum((h[i] - h[j]) * (h[i] - h[k])))
    best, value = np.zeros(m), np.inf
    for count in range(1, m + 1):
        for chosen in combinations(range(m), count):
            part = np.linalg.solve(p[np.ix_(chosen, chosen)], np.ones(count))
            part = part / part.sum()
            alpha = np.zeros(m)
            alpha[list(chosen)] = part
            # Minimize(quad_form(alphav, p_matrix)), sum = 1, alphav >= 0
            if np.all(part >= 0) and alpha @ p @ alpha < value:
                best, value = alpha, float(alpha @ p @ alpha)
    return best


def fedpac(
    start: Params,
    data: Mapping[int, Client],
    plan: Plan,
    head_plan: Plan,
    participants: Sequence[Sequence[int]],
    lr: Sequence[float],
    head_lr: Sequence[float],
    lam: float,
) -> list[Snapshot]:
    """{"body", "heads": {k: φ_k}, "centroids": {class: mean}, "alpha": {k: α_k}} after a round."""
    classes = len(start["out.bias"])
    body = {name: np.array(v) for name, v in start.items() if name not in HEAD}
    heads = {k: {name: np.array(start[name]) for name in HEAD} for k in data}
    centroids: dict[int, np.ndarray] = {}
    history: list[Snapshot] = []
    for t in range(len(plan)):
        up, h, variance, sums, mass = {}, {}, {}, {}, {}
        for k in participants[t]:
            w = {**copy(body), **copy(heads[k])}
            h[k], variance[k] = described(w, data[k], classes)
            # local_training: first the classifier, its loss alone, while the rest stands still
            for index, weight in head_plan[t][k]:
                x, y = data[k]["x"][index], data[k]["y"][index]
                slope = backward(w, x, cross_entropy_dlogits(scores(w, features(w, x)), y, weight))
                w = {n: v - at(head_lr, t) * slope[n] if n in HEAD else v for n, v in w.items()}
            # then the rest, while the classifier stands still: loss0 + lam * MSELoss to the class's
            for batch in plan[t][k]:  # global mean, from the second round on
                slope = drawn_gradient(w, data[k], batch, centroids, lam)
                w = {n: v if n in HEAD else v - at(lr, t) * slope[n] for n, v in w.items()}
            up[k] = w
            means, counts = own_prototypes(w, data[k])  # get_local_protos after the training
            for c, mean in means.items():
                sums[c] = sums.get(c, 0.0) + counts[c] * mean
                mass[c] = mass.get(c, 0) + counts[c]
        # tools.protos_aggregation: by how many samples of the class a client has
        centroids = {**centroids, **{c: sums[c] / mass[c] for c in sums}}
        who = list(participants[t])
        total = sum(size(data[k]) for k in who)
        # average_weights_weighted by agg_weight, the clients' samples
        whole = combine([up[k] for k in who], [size(data[k]) / total for k in who])
        body = {name: whole[name] for name in body}
        alphas = {}
        for place, k in enumerate(who):
            alphas[k] = mixture([h[j] for j in who], [variance[j] for j in who], place)
            # agg_classifier_weighted_p: the trained heads of the round, by α_i
            mixed = combine([up[j] for j in who], list(alphas[k]))
            heads[k] = {name: mixed[name] for name in HEAD}
        history.append(
            {
                "body": copy(body),
                "heads": {k: copy(v) for k, v in heads.items()},
                "centroids": dict(centroids),
                "alpha": alphas,
            }
        )
    return history
