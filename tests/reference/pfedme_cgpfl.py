"""pFedMe, CGPFL and CGPFL-Heur, with plain loops.

CGPFL, Algorithm 1 lines 1-16, and eq. 12 (section 4.4) for the heuristic; pFedMe (T Dinh et al.
2020), Algorithm 1, is written out separately so that "CGPFL with K = 1 is pFedMe" can be checked.
METHODS.md sections 3 and 11.

Readings:
- Line 8 prints ∇F_i, the gradient of the regularised objective: ∇f_i(θ) + λ(θ - ω_{i,r}). One
  mini-batch per r, S
  steps on it.
- Line 10: the gradient of the envelope is λ(ω - θ), without the printed 2/N.
- θ: Algorithm 1 does not say where θ_0 comes from. persist=True: θ goes on from the last r and the
  last round
  (METHODS.md 11), its first value being the model received first. persist=False: θ starts from
  ω_{i,r} in every r (restart="step"), or from the received model in every round and then goes on
  (restart="round", pFedMe's public code).
- Line 14 means the members of a cluster alike; samples=True weighs them by their samples, as
  pFedMe's public code does (its servers/serverbase.py).
- Line 14 with alpha < 1: new clusters are matched to the old models by optimal assignment on l2
  distance; only
  clusters with members are matched, so a model left without members stays as it is.

pFedMe was held against the authors' code, CharlieDinh/pFedMe: userpFedMe.py and userbase.py at
0468164, serverpFedMe.py and serverbase.py at 7e52b22, fedl/optimizers/fedoptimizer.py at 00057e1.
"""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from scipy.optimize import linear_sum_assignment

from tests.reference.kmeans import lloyd, squared_distances
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
    flatten,
    size,
    unflatten,
)


def moreau_client(
    received: Params,
    theta: Params | None,
    client: Client,
    batches: Sequence[Batch],
    lam: float,
    lr: float,
    beta: float,
    steps: int,
    persist: bool = True,
    restart: str = "step",
    gradient: Gradient = batch_gradient,
) -> tuple[Params, Params]:
    """Lines 4-11 for one client: (ω_{i,R}, θ). batches has one mini-batch per r; `theta` is the
    last θ, or None at first.

    lr is η, the step of θ; beta is the step of ω.
    """
    if restart not in ("step", "round"):
        raise ValueError(restart)
    omega = copy(received)  # line 4; pFedMe: set_parameters, model and local_model
    theta = copy(theta) if persist and theta is not None else copy(received)
    for batch in batches:
        if not persist and restart == "step":
            theta = copy(omega)
        for _ in range(steps):  # lines 7-9; pFedMe: K times PersionalizedOptimizer.step
            g = gradient(theta, client, batch)
            theta = {
                name: theta[name] - lr * (g[name] + lam * (theta[name] - omega[name]))
                for name in theta
            }
        # line 10; pFedMe: UserpFedMe.train, lamda * learning_rate * (localweight - new_param)
        omega = {name: omega[name] - beta * lam * (omega[name] - theta[name]) for name in omega}
    return omega, theta


def pfedme(
    start: Params,
    data: Mapping[int, Client],
    plan: Plan,
    participants: Sequence[Sequence[int]],
    lam: float,
    lr: float | Sequence[float],
    beta: float | Sequence[float],
    steps: int,
    alpha: float = 1.0,
    persist: bool = True,
    restart: str = "step",
    samples: bool = False,
    gradient: Gradient = batch_gradient,
) -> list[Snapshot]:
    """w <- (1 - alpha) w + alpha * (mean of the uploads: uniform, or by samples); alpha is what
    pFedMe's paper calls β.

    Snapshot: {"server": {"model"}, "uploads": {k: ω_{k,R}}, "personal": {k: θ_k}} (clients never
    seen: no personal entry).
    """
    w = copy(start)
    thetas: dict[int, Params] = {}
    history: list[Snapshot] = []
    for t in range(len(plan)):
        uploads: dict[int, Params] = {}
        for k in participants[t]:
            uploads[k], thetas[k] = moreau_client(
                w,
                thetas.get(k),
                data[k],
                plan[t][k],
                lam,
                at(lr, t),
                at(beta, t),
                steps,
                persist,
                restart,
                gradient,
            )
        counts = [size(data[k]) if samples else 1 for k in participants[t]]
        mean = combine([uploads[k] for k in participants[t]], [n / sum(counts) for n in counts])
        w = combine([w, mean], [1.0 - alpha, alpha])
        history.append(
            {
                "server": {"model": copy(w)},
                "uploads": uploads,
                "personal": {k: copy(v) for k, v in thetas.items()},
            }
        )
    return history


def match(old: np.ndarray, new: np.ndarray, squared: bool = False) -> list[int]:
    """For each row of `new`, the row of `old` it continues: least total l2 distance (or squared
    l2), one to one.
    """
    cost = squared_distances(new, old)
    rows, columns = linear_sum_assignment(cost if squared else np.sqrt(cost))
    out = [-1] * len(new)
    for row, column in zip(rows, columns, strict=True):
        out[int(row)] = int(column)
    return out


def server_update(
    models: Sequence[Params],
    uploads: Mapping[int, Params],
    seeds: Sequence[int],
    alpha: float,
    squared: bool = False,
    counts: Mapping[int, int] | None = None,
) -> tuple[list[Params], dict[int, int], int]:
    """Lines 13-14: (new models, {k: its cluster, numbered as the models}, k-means iterations).

    seeds: positions in the order of `uploads`. The members of a cluster count alike, whatever their
    sizes; with `counts`, client -> samples, by these.
    """
    clients = list(uploads)
    points = np.array([flatten(uploads[k]) for k in clients])
    # Line 13: k-means on the uploads; the column of a cluster in P^{t+1} has 1/|C_j| a member.
    _, labels, iterations = lloyd(points, seeds)
    used = sorted({int(label) for label in labels})
    each = np.array([1 if counts is None else counts[k] for k in clients], dtype=float)
    centers = np.array([points[labels == j].mean(axis=0) for j in used])  # k-means' own: all alike
    means = np.array(
        [each[labels == j] @ points[labels == j] / each[labels == j].sum() for j in used]
    )
    number = dict(
        zip(used, match(np.array([flatten(m) for m in models]), centers, squared), strict=True)
    )
    # Line 14: ω_k − α (ω_k − the mean of its members).
    updated = [copy(m) for m in models]
    for j, mean in zip(used, means, strict=True):
        m = number[j]
        updated[m] = combine([models[m], unflatten(mean, models[m])], [1.0 - alpha, alpha])
    return (
        updated,
        {k: number[int(label)] for k, label in zip(clients, labels, strict=True)},
        iterations,
    )


def largest(clusters: int, cluster: Mapping[int, int]) -> int:
    """Whose model a client is sent that no round has had: the cluster with most members, of equals
    the first.
    """
    members = list(cluster.values())
    return max(range(clusters), key=lambda j: (members.count(j), -j))


def cgpfl(
    start: Params | Sequence[Params],
    data: Mapping[int, Client],
    plan: Plan,
    participants: Sequence[Sequence[int]],
    lam: float,
    lr: float | Sequence[float],
    beta: float | Sequence[float],
    steps: int,
    clusters: int,
    seeds: Sequence[Sequence[int]],
    alpha: float = 1.0,
    assignment: Mapping[int, int] | None = None,
    persist: bool = True,
    restart: str = "step",
    squared: bool = False,
    samples: bool = False,
    gradient: Gradient = batch_gradient,
) -> list[Snapshot]:
    """`start`: one model for all clusters, or one per cluster; `assignment`: P^0 (default: nobody
    is in a cluster, -1). Who has had no round with a mini-batch is sent the model of the largest
    cluster: the paper has everybody in every round, and does not say.

    seeds[t]: positions in participants[t] of the uploads the k-means of round t starts from. A
    client that does not take part keeps its cluster number. Snapshot: {"server": {"models": [ω_k],
    "assignment": {k: cluster}, "iterations"}, "uploads": {k: ω_{k,R}}, "personal": {k: θ_k}}. With
    all ω_k equal (round 0) every matching is optimal: cluster numbers are then arbitrary, compare
    up to a permutation.
    """
    models = (
        [copy(start) for _ in range(clusters)]
        if isinstance(start, Mapping)
        else [copy(m) for m in start]
    )
    cluster = dict.fromkeys(data, -1) if assignment is None else dict(assignment)
    thetas: dict[int, Params] = {}
    history: list[Snapshot] = []
    for t in range(len(plan)):
        uploads: dict[int, Params] = {}
        for k in participants[t]:
            # Lines 2-12: client k is sent the model of its cluster under P^t.
            uploads[k], thetas[k] = moreau_client(
                models[cluster[k] if cluster[k] >= 0 else largest(clusters, cluster)],
                thetas.get(k),
                data[k],
                plan[t][k],
                lam,
                at(lr, t),
                at(beta, t),
                steps,
                persist,
                restart,
                gradient,
            )
        if len(seeds[t]) != clusters:
            raise ValueError("one seed per cluster")
        counts = {k: size(data[k]) for k in uploads} if samples else None
        models, found, iterations = server_update(models, uploads, seeds[t], alpha, squared, counts)
        cluster.update({k: j for k, j in found.items() if plan[t][k]})
        history.append(
            {
                "server": {
                    "models": [copy(m) for m in models],
                    "assignment": dict(cluster),
                    "iterations": iterations,
                },
                "uploads": uploads,
                "personal": {k: copy(v) for k, v in thetas.items()},
            }
        )
    return history


# --- CGPFL-Heur


def trade_off(K: int, m: int, d: int, mu: float, cost: float) -> float:
    """e(K) of eq. 12 with m samples and d parameters.

    Reading: log(e m / d) is clamped from below at 1, its value at m = d, wherever there are more
    parameters than samples.
    """
    logarithm = max(float(np.log(np.e * m / d)), 1.0)
    return float(np.sqrt(d * K * logarithm / m)) + mu * cost


def clustering_cost(points: np.ndarray, sizes: Sequence[int], centroids: np.ndarray) -> float:
    """cost = sum_i (m_i / m) min_k ||ω_i - ω_k||²."""
    total = sum(sizes)
    cost = 0.0
    for point, n in zip(points, sizes, strict=True):
        cost += n / total * min(float(np.sum((point - centroid) ** 2)) for centroid in centroids)
    return cost


def choose_k(
    points: np.ndarray,
    sizes: Sequence[int],
    mu: float,
    cluster: Callable[[np.ndarray, int], np.ndarray],
    largest: int | None = None,
) -> tuple[int, list[float]]:
    """(K of least e(K), [e(1), …, e(⌊N/2⌋)]); of equals the smallest K. cluster(points, K) gives
    the centroids [K, D].

    With cluster = kmeans.brute_force this is the exact answer for a tiny N.
    """
    top = max(len(points) // 2, 1) if largest is None else largest
    values = []
    for K in range(1, top + 1):
        cost = clustering_cost(points, sizes, cluster(points, K))
        values.append(trade_off(K, sum(sizes), points.shape[1], mu, cost))
    return int(np.argmin(values)) + 1, values


def cgpfl_heur(
    start: Params,
    data: Mapping[int, Client],
    plan: Plan,
    participants: Sequence[Sequence[int]],
    lam: float,
    lr: float | Sequence[float],
    beta: float | Sequence[float],
    steps: int,
    mu: float,
    seeds_by_k: Mapping[int, Sequence[int]],
    seeds: Sequence[Sequence[int]] | Callable[[int, int], Sequence[int]],
    alpha: float = 1.0,
    persist: bool = True,
    restart: str = "step",
    gradient: Gradient = batch_gradient,
) -> tuple[int, list[float], list[Snapshot]]:
    """(K, [e(1), …], cgpfl's snapshots). K is chosen on the uploads of round 0, from the k-means of
    seeds_by_k[K], and then fixed.

    `seeds` is for rounds 1, 2, … (entry 0 is not read), or a function (t, K) -> seeds. The
    clustering of round 0 is the one that e(K) was computed from. N is the number of participants of
    round 0, m their samples.
    """
    uploads = [
        moreau_client(
            start,
            None,
            data[k],
            plan[0][k],
            lam,
            at(lr, 0),
            at(beta, 0),
            steps,
            persist,
            restart,
            gradient,
        )[0]
        for k in participants[0]
    ]
    points = np.array([flatten(u) for u in uploads])
    sizes = [size(data[k]) for k in participants[0]]
    K, values = choose_k(points, sizes, mu, lambda p, k: lloyd(p, seeds_by_k[k])[0])
    later = [seeds(t, K) if callable(seeds) else seeds[t] for t in range(1, len(plan))]
    history = cgpfl(
        start,
        data,
        plan,
        participants,
        lam,
        lr,
        beta,
        steps,
        K,
        [seeds_by_k[K], *later],
        alpha,
        persist=persist,
        restart=restart,
        gradient=gradient,
    )
    return K, values, history
