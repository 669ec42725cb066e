"""FedCP with plain loops and hand-written gradients. Zhang et al. 2023: features h are split by a
policy r of h ∘ v/‖v‖; g(r ∘ h; own head) + g((1 − r) ∘ h; global head); beside the loss λ times the
squared maximum mean discrepancy of h and the received extractor's features.

Held against TsingZ0/PFLlib at 0080c46, clientcp.py, and TsingZ0/FedCP at 19f4238, servercp.py. The
page docs/methods/fedcp.md names what that code does otherwise.
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

EPS, SIGMAS = 1e-5, (10.0, 15.0, 20.0, 50.0)


def direction(head: Params) -> np.ndarray:
    # clientCP.set_head_g: the sum of the rows of the client's head; Ensemble: F.normalize
    v = np.zeros(head["out.weight"].shape[1])
    for row in head["out.weight"]:
        v = v + row
    return v / np.sqrt(np.sum(v**2))


class Policy:
    """r of one pass, and the way back."""

    def __init__(self, w: Params, h: np.ndarray, toward: np.ndarray) -> None:
        # ConditionalSelection: Linear, LayerNorm, ReLU, a softmax of two halves
        self.w, self.toward, self.half = w, toward, h.shape[1]
        self.given = h * toward
        z = self.given @ w["policy:weight"].T + w["policy:bias"]
        self.deviation = np.sqrt(z.var(axis=1, keepdims=True) + EPS)
        self.normed = (z - z.mean(axis=1, keepdims=True)) / self.deviation
        self.before = self.normed * w["policy:norm.weight"] + w["policy:norm.bias"]
        a = np.exp(np.maximum(self.before, 0.0))
        personal, common = a[:, : self.half], a[:, self.half :]
        self.r = personal / (personal + common)

    def back(self, dr: np.ndarray) -> tuple[Params, np.ndarray]:
        """(slopes of the network, slope of h) from that of r."""
        d = dr * self.r * (1 - self.r)
        dbefore = np.concatenate([d, -d], axis=1) * (self.before > 0)
        dnormed = dbefore * self.w["policy:norm.weight"]
        centred = dnormed - dnormed.mean(axis=1, keepdims=True)
        along = (dnormed * self.normed).mean(axis=1, keepdims=True)
        dz = (centred - self.normed * along) / self.deviation
        slopes = {
            "policy:weight": dz.T @ self.given,
            "policy:bias": dz.sum(axis=0),
            "policy:norm.weight": (dbefore * self.normed).sum(axis=0),
            "policy:norm.bias": dbefore.sum(axis=0),
        }
        return slopes, (dz @ self.w["policy:weight"]) * self.toward


def outputs(w: Params, common: Params, x: np.ndarray, toward: np.ndarray) -> np.ndarray:
    h = features(w, x)
    r = Policy(w, h, toward).r  # Ensemble.forward: head(rep * pm) + head_g(rep * gm)
    return scores(w, r * h) + scores(common, (1 - r) * h)


def pull(h: np.ndarray, before: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """The slope by h of Σ w_i w_j (k(h_i, h_j) + k(b_i, b_j) − 2 k(h_i, b_j))."""
    slope = np.zeros_like(h)  # MMD: mean(XX + YY − 2 XY), "rbf"
    for i, row in enumerate(h):
        for j in range(len(h)):
            for sign, other in ((1.0, h[j]), (-1.0, before[j])):
                apart = row - other
                for s in SIGMAS:
                    kernel = np.exp(-np.sum(apart**2) / (2 * s))
                    slope[i] += 2 * sign * weight[i] * weight[j] * kernel * (-apart / s)
    return slope


def gradient(
    w: Params, sent: Params, client: Client, batch: Batch, toward: np.ndarray, lam: float
) -> Params:
    index, weight = batch
    x, y = client["x"][index], client["y"][index]
    h = features(w, x)
    split = Policy(w, h, toward)
    r = split.r
    z = scores(w, r * h) + scores(sent, (1 - r) * h)
    dz = cross_entropy_dlogits(z, y, weight)
    personal, common = dz @ w["out.weight"], dz @ sent["out.weight"]
    slopes, through = split.back((personal - common) * h)
    dh = personal * r + common * (1 - r) + through + lam * pull(h, features(sent, x), weight)
    inside = dh * (h > 0)
    return {
        "hidden.weight": inside.T @ x,
        "hidden.bias": inside.sum(axis=0),
        "out.weight": dz.T @ (r * h),
        "out.bias": dz.sum(axis=0),
        **slopes,
    }


def fedcp(
    start: Params,
    first: Params,
    data: Mapping[int, Client],
    plan: Plan,
    participants: Sequence[Sequence[int]],
    lr: Sequence[float],
    lam: float,
) -> list[Snapshot]:
    """{"global": θ, φ and Θ, "heads": {k: φ_k}} after each round; ``first``: Θ at the start."""
    common = copy({**start, **first})
    heads = {k: {name: np.array(start[name]) for name in HEAD} for k in data}
    history: list[Snapshot] = []
    for t in range(len(plan)):
        up = {}
        for k in participants[t]:
            w, toward = copy({**common, **heads[k]}), direction(heads[k])
            for batch in plan[t][k]:
                w = step(w, gradient(w, common, data[k], batch, toward, lam), at(lr, t))
            heads[k] = {name: w[name] for name in HEAD}
            # generate_upload_head
            up[k] = {**w, **{name: 0.5 * w[name] + 0.5 * common[name] for name in HEAD}}
        total = sum(size(data[k]) for k in up)
        common = combine(list(up.values()), [size(data[k]) / total for k in up])
        history.append({"global": copy(common), "heads": {k: copy(h) for k, h in heads.items()}})
    return history
