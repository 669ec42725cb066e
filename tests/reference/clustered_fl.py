"""Clustered FL, with plain loops: Sattler, Müller & Samek 2019/2020; METHODS.md section 5.

The optimal bipartition is found by trying every one. Readings: children start from the parent's
averaged model, with halves="means" from the means of their own members (the authors' code); ε₁ and
ε₂ are in units of the largest update norm of the first round, or absolute; the half with the lowest
client keeps the number.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from tests.reference.local_fedavg import Plan, train
from tests.reference.model import (
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
)


def cosine(a: np.ndarray, b: np.ndarray) -> float:
    return float(a @ b) / float(np.linalg.norm(a) * np.linalg.norm(b))


def best_bipartition(updates: Sequence[np.ndarray]) -> tuple[list[int], list[int], float]:
    """(positions of the half with the first one, the others, α_cross) of least α_cross = max cosine
    across.
    """
    m = len(updates)
    best = None
    for code in range(
        2 ** (m - 1) - 1
    ):  # bit i − 1: whether position i stays with position 0; never all
        one = [0] + [i for i in range(1, m) if code >> (i - 1) & 1]
        other = [i for i in range(m) if i not in one]
        cross = max(cosine(updates[i], updates[j]) for i in one for j in other)
        if best is None or cross < best[2] - 1e-15:
            best = one, other, cross
    assert best is not None
    return best


def averaged(uploads: Mapping[int, Params], mass: Mapping[int, int]) -> Params:
    return combine([uploads[k] for k in mass], [n / sum(mass.values()) for n in mass.values()])


def clustered_fl(
    start: Params,
    data: Mapping[int, Client],
    plan: Plan,
    lr: float | Sequence[float],
    eps1: float,
    eps2: float,
    gamma: float,
    unit: str = "first",
    halves: str = "parent",
    weights: str = "samples",
    gradient: Gradient = batch_gradient,
) -> list[Snapshot]:
    """Everybody takes part. Snapshot: {"server": {"models": [θ_c]}, "cluster": {k: c}, "uploads":
    {k}, "cross": […]}.

    "norms": {k: ‖Δ_k‖}, "means": {c: ‖mean Δ‖}, in the unit of ε.
    """
    models, cluster = [copy(start)], dict.fromkeys(data, 0)
    scale = 1.0 if unit == "absolute" else 0.0
    history: list[Snapshot] = []
    for t in range(len(plan)):
        uploads, updates = {}, {}
        for k in data:
            received = models[cluster[k]]
            uploads[k] = train(received, data[k], plan[t][k], at(lr, t), gradient)
            updates[k] = flatten(uploads[k]) - flatten(received)
        norms = {k: float(np.linalg.norm(updates[k])) for k in data}
        if scale == 0.0:
            scale = max(norms.values())
        means, crosses = {}, []
        for c in range(len(models)):
            members = [k for k in data if cluster[k] == c]
            mass = {k: size(data[k]) if weights == "samples" else 1 for k in members}
            mean = sum(mass[k] / sum(mass.values()) * updates[k] for k in members)
            means[c] = float(np.linalg.norm(mean))
            models[c] = averaged(uploads, mass)
            if len(members) < 2 or not (
                means[c] < eps1 * scale and max(norms[k] for k in members) > eps2 * scale
            ):
                continue
            one, other, cross = best_bipartition([updates[k] for k in members])
            crosses.append(cross)
            if gamma < np.sqrt((1.0 - cross) / 2.0):
                for position in other:
                    cluster[members[position]] = len(models)
                models.append(copy(models[c]))
                if halves == "means":
                    models[c] = averaged(uploads, {members[i]: mass[members[i]] for i in one})
                    models[-1] = averaged(uploads, {members[i]: mass[members[i]] for i in other})
        history.append(
            {
                "server": {"models": [copy(m) for m in models]},
                "cluster": dict(cluster),
                "uploads": uploads,
                "cross": crosses,
                "norms": {k: norm / scale for k, norm in norms.items()},
                "means": {c: mean / scale for c, mean in means.items()},
            }
        )
    return history
