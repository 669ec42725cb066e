"""COMET (journal) = PerFed-CKT (preprint): clustered co-distillation, with plain loops.

COMET, Algorithm 1 lines 3-15 with eqs. 1, 2, 4 (= PerFed-CKT, Algorithm 1 lines 3-15); METHODS.md
section 1. The papers call s(w, x) "logits" but define it on the probability simplex: it is the
softmax output.
"""

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from tests.reference.kmeans import lloyd, nearest
from tests.reference.local_fedavg import Plan, starts
from tests.reference.model import (
    Client,
    Params,
    Snapshot,
    at,
    backward,
    batch_gradient,
    copy,
    logits,
    softmax,
    softmax_vjp,
    step,
)


def predictions(params: Params, public: np.ndarray) -> np.ndarray:
    """s_k [|P|, C]: the rows s(w_k, x), x in P."""
    return softmax(logits(params, public))


def distillation_loss(params: Params, x: np.ndarray, target: np.ndarray, lam: float) -> float:
    """(lam / b') * sum over x of || s̄(x) - s(w, x) ||² (second term of eq. 1 on b' rows)."""
    return lam / len(x) * float(np.sum((target - predictions(params, x)) ** 2))


def distillation_gradient(params: Params, x: np.ndarray, target: np.ndarray, lam: float) -> Params:
    """(2 lam / b') * sum over x of ∇s(w, x)ᵀ ( s(w, x) - s̄(x) ) (second term of eq.

    2); s̄ is a constant.
    """
    s = predictions(params, x)
    return backward(params, x, (2.0 * lam / len(x)) * softmax_vjp(s, s - target))


def silhouette(points: np.ndarray, labels: np.ndarray) -> float:
    """Mean of (b - a) / max(a, b): a, b the mean distances of a point to the others of its cluster
    and to the nearest other cluster; 0 for a point alone in its cluster, or where both are 0; 0
    where there is one cluster.
    """
    flat = points.reshape(len(points), -1)
    used = sorted(set(labels.tolist()))
    if len(used) == 1:
        return 0.0
    scores = []
    for i, point in enumerate(flat):
        far = {
            c: [
                np.sqrt(np.sum((point - flat[j]) ** 2))
                for j in range(len(flat))
                if labels[j] == c and j != i
            ]
            for c in used
        }
        mine = far.pop(labels[i])
        a, b = np.mean(mine) if mine else 0.0, min(np.mean(d) for d in far.values())
        scores.append((b - a) / max(a, b) if mine and max(a, b) > 0 else 0.0)
    return float(np.mean(scores))


def choose_c(points: np.ndarray, most: int, labels_of: Callable[[int], np.ndarray]) -> int:
    """The c in 2 … min(most, ⌊n/2⌋) of the highest silhouette of its k-means (labels_of(c)); 1
    where none is > 1/4.
    """
    scores = {
        c: silhouette(points, labels_of(c)) for c in range(2, min(most, len(points) // 2) + 1)
    }
    best = max(scores, key=lambda c: scores[c], default=1)
    return best if scores and scores[best] > 0.25 else 1


def shrunk(lam: float, apart: float, usual: float, tiny: float = 1e-6) -> float:
    """λ · 2u / (u + a), u and a (plus a tiny number) the usual and the own mean squared distance of
    a row.
    """
    return 2 * lam * (usual + tiny) / ((usual + tiny) + (apart + tiny))


def comet(
    start: Params | Mapping[int, Params],
    data: Mapping[int, Client],
    public: np.ndarray,
    plan: Plan,
    public_plan: Sequence[Mapping[int, Sequence[np.ndarray]]],
    participants: Sequence[Sequence[int]],
    first_participants: Sequence[int],
    lam: float | Mapping[int, float],
    lr: float | Sequence[float],
    clusters: int | Sequence[int],
    seeds: Sequence[Sequence[int]],
    pull: str = "equal",
) -> list[Snapshot]:
    """Rounds t = 0, 1, …; `start` may hold a different architecture for each client.

    public_plan[t][k]: for each local step, the rows of P of its public mini-batch, beside the
    private one in plan[t][k]. seeds[t]: which of the prediction matrices on the server (position in
    the PREVIOUS round's participant list, or in first_participants in round 0) the k-means of round
    t starts from; len(seeds[t]) = clusters (or clusters[t]). pull "distance": λ_k = shrunk(λ, its
    distance from its centroid, that of those clustered). Snapshot: {"lam": {k: λ_k}, "nearest": {k
    in participants: index of its centroid},
               "server": {"centroids": [c, |P|, C], "iterations",
                          "assignment": {j in previous participants: cluster}},
               "messages": {k: s_k after training},
               "personal": {k: params}}.
    """
    models = starts(start, list(data))
    # Initialize: the first participants send the predictions of their models before any training.
    senders = list(first_participants)
    received = [predictions(models[k], public) for k in senders]
    history: list[Snapshot] = []
    for t in range(len(plan)):
        # Lines 6-7: cluster the matrices received from the previous round's participants
        # (flattened, l2).
        c = clusters if isinstance(clusters, int) else clusters[t]
        if len(seeds[t]) != c or not 1 <= c <= len(received):
            raise ValueError("1 <= c <= m and one seed per cluster")
        flat, assignment, iterations = lloyd(np.array([s.ravel() for s in received]), seeds[t])
        centroids = flat.reshape(c, *received[0].shape)
        usual = np.mean(
            [
                np.sum((s - centroids[a]) ** 2) / len(public)
                for s, a in zip(received, assignment, strict=True)
            ]
        )
        # Lines 8-9: S^(t) is given; every participant gets every centroid.
        messages: dict[int, np.ndarray] = {}
        chosen: dict[int, int] = {}
        strength: dict[int, float] = {}
        for k in participants[t]:
            # Line 11: nearest centroid of the model as it stands; s̄_k is fixed during the round.
            chosen[k] = int(nearest(predictions(models[k], public).ravel()[None], flat)[0])
            target = centroids[chosen[k]]
            lam_k = float(lam[k]) if isinstance(lam, Mapping) else float(lam)
            if pull == "distance":
                lam_k = shrunk(
                    lam_k,
                    float(np.sum((predictions(models[k], public) - target) ** 2)) / len(public),
                    usual,
                )
            strength[k] = lam_k
            # Lines 12-14: tau steps of eq. 2.
            for batch, rows in zip(plan[t][k], public_plan[t][k], strict=True):
                w = models[k]
                private = batch_gradient(w, data[k], batch)
                shared = distillation_gradient(w, public[rows], target[rows], lam_k)
                models[k] = step(w, {name: private[name] + shared[name] for name in w}, at(lr, t))
            # Line 15: send s_k of the updated model.
            messages[k] = predictions(models[k], public)
        history.append(
            {
                "server": {
                    "centroids": centroids,
                    "assignment": {j: int(a) for j, a in zip(senders, assignment, strict=True)},
                    "iterations": iterations,
                },
                "nearest": chosen,
                "lam": strength,
                "messages": messages,
                "personal": {k: copy(models[k]) for k in data},
            }
        )
        senders, received = list(participants[t]), [messages[k] for k in participants[t]]
    return history
