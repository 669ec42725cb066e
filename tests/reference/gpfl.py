"""GPFL with plain loops and hand-written gradients. Zhang et al. 2023: features h are moved by a
valve, ReLU((γ + 1) ∘ h + β), once by the client's condition and once by everybody's; the first go
to the client's head, the second are drawn to embeddings of the classes by angle and by length.

Held against TsingZ0/GPFL: clientgp.py at 5c37114, servergp.py at 131a19c. The page
docs/methods/gpfl.md names what that code does otherwise.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from tests.reference.headed import HEAD, features, scores
from tests.reference.local_fedavg import Plan
from tests.reference.model import (
    Batch,
    Client,
    Params,
    Snapshot,
    at,
    combine,
    copy,
    cross_entropy_dlogits,
    size,
    step,
)

EPS = 1e-5


class Layer:
    """A linear layer of a condition, a ReLU and a layer normalization, and the way back."""

    def __init__(self, w: Params, part: str, given: np.ndarray) -> None:
        self.w, self.part, self.given = w, f"gpfl:{part}", given
        self.z = w[f"{self.part}.weight"] @ given + w[f"{self.part}.bias"]
        a = np.maximum(self.z, 0.0)
        self.deviation = np.sqrt(a.var() + EPS)
        self.normed = (a - a.mean()) / self.deviation
        self.out = self.normed * w[f"{self.part}.norm.weight"] + w[f"{self.part}.norm.bias"]

    def back(self, dout: np.ndarray) -> Params:
        d = dout * self.w[f"{self.part}.norm.weight"]
        da = (d - d.mean() - self.normed * (d * self.normed).mean()) / self.deviation
        dz = da * (self.z > 0)
        return {
            f"{self.part}.weight": np.outer(dz, self.given),
            f"{self.part}.bias": dz,
            f"{self.part}.norm.weight": dout * self.normed,
            f"{self.part}.norm.bias": dout,
        }


class Route:
    """Features moved by one condition."""

    def __init__(self, w: Params, h: np.ndarray, given: np.ndarray) -> None:
        # CoV.forward: act(x * (gamma + 1) + beta)
        self.h, self.scale, self.shift = h, Layer(w, "scale", given), Layer(w, "shift", given)
        self.before = (self.scale.out + 1) * h + self.shift.out
        self.out = np.maximum(self.before, 0.0)

    def back(self, dout: np.ndarray) -> tuple[Params, np.ndarray]:
        d = dout * (self.before > 0)
        slopes = {
            **self.scale.back((d * self.h).sum(axis=0)),
            **self.shift.back(d.sum(axis=0)),
        }
        return slopes, d * (self.scale.out + 1)


def conditions(embeddings: np.ndarray, client: Client) -> tuple[np.ndarray, np.ndarray]:
    """(p_i, g): clientGP.set_GCE."""
    own = np.zeros(embeddings.shape[1])
    for label in client["y"]:
        own = own + embeddings[int(label)] / len(client["y"])
    return own, sum(embeddings) / len(embeddings)


def outputs(w: Params, x: np.ndarray, own: np.ndarray) -> np.ndarray:
    return scores(w, Route(w, features(w, x), own).out)


def angle(
    rows: np.ndarray, embeddings: np.ndarray, y: np.ndarray, weight: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Slopes of the cross-entropy of cosines, by the rows and by the embeddings."""
    # GCE.forward: log_softmax of the cosines
    lengths = np.sqrt(np.sum(rows**2, axis=1, keepdims=True))
    there = lengths > 0
    unit = np.where(there, rows / np.where(there, lengths, 1.0), 0.0)
    sizes = np.sqrt(np.sum(embeddings**2, axis=1, keepdims=True))
    other = embeddings / sizes
    d = cross_entropy_dlogits(unit @ other.T, y, weight)
    dunit, dother = d @ other, d.T @ unit
    along = dunit - unit * (unit * dunit).sum(axis=1, keepdims=True)
    drows = np.where(there, along / np.where(there, lengths, 1.0), 0.0)
    return drows, (dother - other * (other * dother).sum(axis=1, keepdims=True)) / sizes


def gradient(
    w: Params, sent: np.ndarray, client: Client, batch: Batch, lam: float, mu: float
) -> Params:
    index, weight = batch
    x, y = client["x"][index], client["y"][index]
    h = features(w, x)
    own, common = conditions(sent, client)
    personal, guided = Route(w, h, own), Route(w, h, common)
    dz = cross_entropy_dlogits(scores(w, personal.out), y, weight)
    first, dh = personal.back(dz @ w["out.weight"])
    drows, dclasses = angle(guided.out, w["gpfl:classes"], y, weight)
    # clientGP.train: lamda times the norm of feat_G − the frozen embeddings
    for i, label in enumerate(y):
        apart = guided.out[i] - sent[int(label)]
        drows[i] += lam * weight[i] * apart / np.sqrt(np.sum(apart**2))
    second, other = guided.back(drows)
    inside = (dh + other) * (h > 0)
    # GCE_opt and CoV_opt: mu is their weight decay
    slopes = {name: first[name] + second[name] + mu * w[name] for name in first}
    return {
        "hidden.weight": inside.T @ x,
        "hidden.bias": inside.sum(axis=0),
        "out.weight": dz.T @ personal.out,
        "out.bias": dz.sum(axis=0),
        "gpfl:classes": dclasses + mu * w["gpfl:classes"],
        **slopes,
    }


def gpfl(
    start: Params,
    first: Params,
    data: Mapping[int, Client],
    plan: Plan,
    participants: Sequence[Sequence[int]],
    lr: Sequence[float],
    lam: float,
    mu: float,
) -> list[Snapshot]:
    """{"global": body, valve and embeddings, "heads": {k: φ_k}}; ``first``: valve and embeddings at
    the start.
    """
    shared = copy({**{n: v for n, v in start.items() if n not in HEAD}, **first})
    heads = {k: {name: np.array(start[name]) for name in HEAD} for k in data}
    history: list[Snapshot] = []
    for t in range(len(plan)):
        up = {}
        for k in participants[t]:
            w, sent = copy({**shared, **heads[k]}), shared["gpfl:classes"]
            for batch in plan[t][k]:
                w = step(w, gradient(w, sent, data[k], batch, lam, mu), at(lr, t))
            heads[k] = {name: w[name] for name in HEAD}
            up[k] = {name: w[name] for name in shared}
        total = sum(size(data[k]) for k in up)
        shared = combine(list(up.values()), [size(data[k]) / total for k in up])
        history.append({"global": copy(shared), "heads": {k: copy(h) for k, h in heads.items()}})
    return history
