"""Fed-RoD with plain loops. Chen & Chao 2022, Algorithm 1: θ and ψ descend the balanced risk,
cross-entropy of g_c + γ log n_c; φ descends the cross-entropy of ψ(z) + φ(z) with z and ψ fixed.

The authors' repository (hongyouc/Fed-RoD) holds no code. Held against two of others:
TsingZ0/PFLlib, clientrod.py at 04240b9, and makgyver/fluke, fedrod.py at 158e29b.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from tests.reference.headed import HEAD, backward, features, scores
from tests.reference.local_fedavg import Plan
from tests.reference.model import Client, Params, Snapshot, at, combine, copy, size, step


def softmax_of(rows: np.ndarray, label: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """d/dg of −log (n_y e^{g_y} / Σ_c n_c e^{g_c}), row by row."""
    slope = np.zeros_like(rows)  # balanced_softmax_loss: logits + log of the class's samples
    for i, g in enumerate(rows):
        mass = counts * np.exp(g - g.max())
        slope[i] = mass / mass.sum()
        slope[i, int(label[i])] -= 1.0
    return slope


def fedrod(
    start: Params,
    data: Mapping[int, Client],
    plan: Plan,
    participants: Sequence[Sequence[int]],
    lr: Sequence[float],
    personal_lr: Sequence[float],
    gamma: float,
    weighted: bool = True,
) -> list[Snapshot]:
    """{"model": (θ, ψ), "heads": {k: φ_k}} after each round."""
    w = copy(start)
    # both codes begin at a copy of ψ
    heads = {k: {name: np.zeros_like(start[name]) for name in HEAD} for k in data}
    history: list[Snapshot] = []
    for t in range(len(plan)):
        uploads = {}
        for k in participants[t]:
            v, phi = copy(w), copy(heads[k])
            classes = len(start["out.bias"])
            own = [int(np.sum(data[k]["y"] == c)) for c in range(classes)]
            counts = np.array([float(n) ** gamma for n in own])
            for index, weight in plan[t][k]:
                x, y = data[k]["x"][index], data[k]["y"][index]
                h = features(v, x)  # clientROD.train: rep and out_g are taken before either step
                generic = weight[:, None] * softmax_of(scores(v, h), y, counts)
                # clientROD.train: loss(out_g.detach() + pred(rep.detach()), y)
                both = {name: v[name] + phi[name] for name in HEAD}
                mine = weight[:, None] * softmax_of(scores(both, h), y, np.ones(classes))
                slope = {"out.weight": mine.T @ h, "out.bias": mine.sum(axis=0)}
                # optimizer.step: base and predictor; opt_pred.step: φ alone
                v = step(v, backward(v, x, generic), at(lr, t))
                phi = step(phi, slope, at(personal_lr, t))
            uploads[k], heads[k] = v, phi  # φ stays at home
        mass = {k: size(data[k]) if weighted else 1 for k in uploads}
        w = combine(list(uploads.values()), [mass[k] / sum(mass.values()) for k in uploads])
        history.append({"model": copy(w), "heads": {k: copy(h) for k, h in heads.items()}})
    return history


def personal(w: Params, phi: Params) -> Params:
    """clientROD.test_metrics: out_g + out_p, of the model received."""
    return {name: value + phi[name] if name in phi else value for name, value in w.items()}
