"""L2SGD (loopless local gradient descent) as the paper has it: one coin a step, plain loops.

Hanzely & Richtárik 2020, Algorithm 1; METHODS.md section 5. In the paper's letters: M clients, step
η, coin p: heads: w_i <- (1 - ηλ/(Mp)) w_i + (ηλ/(Mp)) w̄, tails: w_i <- w_i - η/(M(1-p)) g_i(w_i).
A change from tails to heads is a communication.
"""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from tests.reference.local_fedavg import starts
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
    step,
)

HEADS, TAILS = True, False


def l2sgd(
    start: Params,
    data: Mapping[int, Client],
    coins: Sequence[Sequence[bool]],
    plan: Sequence[Mapping[int, Sequence[Batch]]],
    eta: Sequence[float],
    lam: float,
    p: float,
    gradient: Gradient = batch_gradient,
    received: bool = False,
) -> list[Snapshot]:
    """coins[t]: the tosses of round t (heads, then tails); plan[t][k]: a mini-batch for each of the
    tails of client k. With ``received`` a head takes models all the way to their mean, which is no
    part of the paper.

    The mean is taken anew at every head, though it does not move between two of them: nothing is
    assumed. Snapshot: {"server": {"model": w̄ of the models at the end of the round}, "personal":
    {k}}.
    """
    models = starts(start, list(data))
    count = len(data)
    history: list[Snapshot] = []
    for t in range(len(coins)):
        batches: dict[int, Iterator[Batch]] = {k: iter(plan[t][k]) for k in data}
        for coin in coins[t]:
            if coin == HEADS:
                mean = average(models)
                share = 1.0 if received else at(eta, t) * lam / (count * p)
                models = {k: combine([models[k], mean], [1.0 - share, share]) for k in data}
            else:
                for k in data:
                    slope = gradient(models[k], data[k], next(batches[k]))
                    models[k] = step(models[k], slope, at(eta, t) / (count * (1.0 - p)))
        assert all(next(rest, None) is None for rest in batches.values())
        history.append(
            {"server": {"model": average(models)}, "personal": {k: copy(models[k]) for k in data}}
        )
    return history


def average(models: Mapping[int, Params]) -> Params:
    return combine(list(models.values()), [1.0 / len(models)] * len(models))


def minimiser(clients: Sequence[tuple[np.ndarray, np.ndarray]], lam: float) -> np.ndarray:
    """argmin (1/M) Σ ½ ||A_i w_i - b_i||² + λ/(2M) Σ ||w_i - w̄||², as [M, d]: H_i w_i + λ (w_i -
    w̄) = A_iᵀb_i.
    """
    M, d = len(clients), clients[0][0].shape[1]
    system, right = np.zeros((M * d, M * d)), np.zeros(M * d)
    for i, (A, b) in enumerate(clients):
        rows = slice(i * d, (i + 1) * d)
        system[rows, rows] += A.T @ A + lam * np.eye(d)
        for j in range(M):
            system[rows, j * d : (j + 1) * d] -= lam / M * np.eye(d)
        right[rows] = A.T @ b
    return np.linalg.solve(system, right).reshape(M, d)


def alternating_fixed_point(
    clients: Sequence[tuple[np.ndarray, np.ndarray]],
    share: float,
    lr: float,
    pulls: int,
    steps: int,
) -> np.ndarray:
    """The fixed point [M, d] of `pulls` heads and then `steps` tails, over and over: an affine map
    of all M models.
    """
    M, d = len(clients), clients[0][0].shape[1]

    def once(models: np.ndarray) -> np.ndarray:
        for _ in range(pulls):
            models = (1.0 - share) * models + share * models.mean(axis=0)
        for _ in range(steps):
            models = np.array(
                [w - lr * A.T @ (A @ w - b) for w, (A, b) in zip(models, clients, strict=True)]
            )
        return models

    constant = once(np.zeros((M, d))).ravel()
    columns = np.array([once(e.reshape(M, d)).ravel() - constant for e in np.eye(M * d)]).T
    return np.linalg.solve(np.eye(M * d) - columns, constant).reshape(M, d)
