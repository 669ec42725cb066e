"""FedFomo with plain loops.

Zhang, Sapra, Fidler, Yeung, Alvarez 2021, the update of their section on it, with its times; the
paper was not at hand, so these lines are as others quote them and as the authors' public code runs
them (tests/golden):
  θ_i(t) <- θ_i(t-1) + Σ_n w_n (θ_n(t) - θ_i(t-1)), n in [N], the client itself included; w_n
  proportional to (L_i(θ_i(t-1)) - L_i(θ_n(t))) / ||θ_n(t) - θ_i(t-1)||, cut off at 0, with Σ w_n =
  1.
θ_i(t-1) is what the client started its last training from, θ_i(t) what that training made of it.
Which models a client receives is given: it is drawn.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from tests.reference.local_fedavg import Plan, train
from tests.reference.model import Client, Params, Snapshot, at, copy, flatten, mean_loss


def raw_weight(mine: Params, other: Params, client: Client) -> float:
    """(L_i(θ_i(t-1)) - L_i(θ_n(t))) / ||θ_n(t) - θ_i(t-1)|| on validation data."""
    distance = float(np.sqrt(np.sum((flatten(other) - flatten(mine)) ** 2)))
    if distance == 0.0:
        return 0.0
    x, y = client["x_val"], client["y_val"]
    return (mean_loss(mine, x, y) - mean_loss(other, x, y)) / distance


def normalised(raw: Sequence[float]) -> list[float]:
    """max(0, w) over their sum; all 0 where none is positive."""
    positive = [max(0.0, value) for value in raw]
    total = sum(positive)
    return [value / total if total > 0.0 else 0.0 for value in positive]


def fedfomo(
    start: Params,
    data: Mapping[int, Client],
    plan: Plan,
    participants: Sequence[Sequence[int]],
    candidates: Sequence[Mapping[int, Sequence[int]]],
    lr: float | Sequence[float],
) -> list[Snapshot]:
    """candidates[t][k]: whose models client k received in round t; those a client uploaded last.

    Snapshot: {"personal": {k}, "before": {k: what k trained from}, "raw": {k: [n + 1], its own
    last}, "affinity": [M, M] after the round, without own gains, "weights": [M, M], the last
    normalised weights}.
    """
    M = len(data)
    trained = {k: copy(start) for k in data}  # θ_k(t)
    before = {k: copy(start) for k in data}  # θ_k(t-1)
    affinity, weights = np.zeros((M, M)), np.zeros((M, M))
    history: list[Snapshot] = []
    for t in range(len(plan)):
        on_server = {k: copy(w) for k, w in trained.items()}
        raw: dict[int, list[float]] = {}
        for k in participants[t]:
            who = [*candidates[t][k], k]
            raw[k] = [raw_weight(before[k], on_server[j], data[k]) for j in who]
            base = copy(before[k])
            weights[k] = 0.0
            for j, share in zip(who, normalised(raw[k]), strict=True):
                for name in base:
                    before[k][name] = before[k][name] + share * (on_server[j][name] - base[name])
                weights[k, j] = share
            for j, value in zip(candidates[t][k], raw[k][:-1], strict=True):
                affinity[k, j] += value
            trained[k] = train(before[k], data[k], plan[t][k], at(lr, t))
        history.append(
            {
                "personal": {k: copy(w) for k, w in trained.items()},
                "before": {k: copy(w) for k, w in before.items()},
                "raw": raw,
                "affinity": affinity.copy(),
                "weights": weights.copy(),
            }
        )
    return history
