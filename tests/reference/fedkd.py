"""FedKD with plain loops and hand-written gradients. Wu et al. 2022: the losses of a client's two
models, L_t + (KL(y_s ‖ y_t) + MSE(H_t, W_h H_s)) / (L_t + L_s) and L_s + (KL(y_t ‖ y_s) + the same
MSE) / (L_t + L_s), each descended by its own parameters; what the shared one learned is sent as
the largest singular values that hold a share T of the energy, and so is the mean.

Held against wuch15/FedKD (run.py at 20ce633, model_bert.py at 962afa5) and TsingZ0/PFLlib at
18139bc (clientkd.py, serverkd.py). The page docs/methods/fedkd.md names what they do otherwise.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from tests.reference.headed import backward, features, scores
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
    cross_entropy_of_logits,
    log_softmax,
    size,
    step,
)


class Meeting:
    """Both models on one mini-batch: the losses, and their slopes by scores and by features."""

    def __init__(
        self, t: Params, s: Params, linear: np.ndarray, client: Client, batch: Batch
    ) -> None:
        index, self.weight = batch
        self.x, self.y = client["x"][index], client["y"][index]
        self.t, self.s, self.linear = t, s, linear
        self.ht, self.hs = features(t, self.x), features(s, self.x)
        self.zt, self.zs = scores(t, self.ht), scores(s, self.hs)
        self.lt = cross_entropy_of_logits(self.zt, self.y, self.weight)
        self.ls = cross_entropy_of_logits(self.zs, self.y, self.weight)
        self.apart = np.array([self.ht[i] - linear @ self.hs[i] for i in range(len(self.y))])

    def mse(self) -> float:
        return sum(w * np.mean(row**2) for w, row in zip(self.weight, self.apart, strict=True))

    def kl(self, of: np.ndarray, other: np.ndarray) -> float:
        """Of the classes that the scores ``of`` say, from those that ``other`` say."""
        total = 0.0
        for w, p, q in zip(self.weight, log_softmax(of), log_softmax(other), strict=True):
            total += w * sum(np.exp(p[c]) * (p[c] - q[c]) for c in range(len(p)))
        return total

    def dscores(
        self, own: np.ndarray, other: np.ndarray, distill: float, hidden: float
    ) -> np.ndarray:
        """Of the whole loss of the model that has the scores ``own``."""
        # clientKD.train: CE_loss + (KL + MSE) / (CE_loss + CE_loss_g), the denominator not detached
        both = self.lt + self.ls
        pull = distill * self.kl(other, own) + hidden * self.mse()
        dtask = cross_entropy_dlogits(own, self.y, self.weight)
        toward = np.exp(log_softmax(own)) - np.exp(log_softmax(other))
        return dtask * (1 - pull / both**2) + distill * self.weight[:, None] * toward / both

    def slopes(self, distill: float, hidden: float) -> tuple[Params, Params, np.ndarray]:
        both = self.lt + self.ls
        d = hidden * 2 * self.weight[:, None] * self.apart / self.apart.shape[1] / both
        mentor = backward(self.t, self.x, self.dscores(self.zt, self.zs, distill, hidden), d)
        dhs = -d @ self.linear
        mentee = backward(self.s, self.x, self.dscores(self.zs, self.zt, distill, hidden), dhs)
        return mentor, mentee, -d.T @ self.hs


def cut(change: np.ndarray, energy: float) -> np.ndarray:
    """The part of a matrix that the fewest largest singular values leave, at least one."""
    if change.ndim < 2:
        return change
    # run.py: sums of squares of the singular values against "energy" of all
    u, sigma, v = np.linalg.svd(change)
    total, kept, so_far = np.sum(sigma**2), np.zeros_like(change), 0.0
    for k, value in enumerate(sigma):
        if k and so_far >= energy * total:
            break
        kept = kept + value * np.outer(u[:, k], v[k])
        so_far += value**2
    return kept


def fedkd(
    start: Params,
    data: Mapping[int, Client],
    plan: Plan,
    participants: Sequence[Sequence[int]],
    lr: Sequence[float],
    personal_lr: Sequence[float],
    energy: Sequence[float],
    distill: float = 1.0,
    hidden: float = 1.0,
    by_samples: bool = False,
) -> list[Snapshot]:
    """{"server": the mentee, "mentors": {k: t_k}, "maps": {k: W_h}, "changes": {k: what was sent}};
    ``energy``: T of each round.
    """
    w = copy(start)
    mentors = {k: copy(start) for k in data}
    maps = {k: np.eye(len(start["hidden.bias"])) for k in data}
    history: list[Snapshot] = []
    for t in range(len(plan)):
        changes = {}
        for k in participants[t]:
            s = copy(w)
            for batch in plan[t][k]:
                met = Meeting(mentors[k], s, maps[k], data[k], batch)
                up, down, linear = met.slopes(distill, hidden)
                mentors[k] = step(mentors[k], up, at(personal_lr, t))
                maps[k] = maps[k] - at(personal_lr, t) * linear
                s = step(s, down, at(lr, t))
            # run.py: student_update is what the round changed
            changes[k] = {name: cut(s[name] - w[name], energy[t]) for name in w}
        shares = [size(data[k]) if by_samples else 1 for k in changes]
        # run.py: np.mean over clients, cut again, added to what the round began with
        mean = combine(list(changes.values()), [share / sum(shares) for share in shares])
        w = {name: w[name] + cut(mean[name], energy[t]) for name in w}
        history.append(
            {
                "server": copy(w),
                "mentors": {k: copy(v) for k, v in mentors.items()},
                "maps": {k: v.copy() for k, v in maps.items()},
                "changes": changes,
            }
        )
    return history
