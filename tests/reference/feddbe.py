"""FedAvg with DBE, with plain loops. Zhang et al. 2023: z = f(x) + z̄_i^p enters the head; beside
the loss κ times the mean square of z̄_i^g − z̄^g, z̄_i^g a moving average over mini-batches of which
only the newest has a slope; z̄^g from one epoch of every client, before the first round.

Held against TsingZ0/DBE at 5d8515e: clients/clientDBE.py, servers/serverDBE.py. The page
docs/methods/feddbe.md names what that code does otherwise.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from tests.reference.headed import backward, features, scores
from tests.reference.local_fedavg import Plan, train
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
)


def consensus(
    start: Params, data: Mapping[int, Client], first: Mapping[int, Sequence[Batch]], lr: float
) -> np.ndarray:
    """z̄^g: serverDBE.__init__, where every client trains ("no DBE") and its mean counts by samples.

    The mean is there the moving average that the training kept.
    """
    total = sum(size(client) for client in data.values())
    mean = np.zeros(len(start["hidden.bias"]))
    for k, client in data.items():
        w = train(start, client, first[k], lr)
        for z in features(w, client["x"]):
            mean = mean + z / total
    return mean


def trained(
    w: Params,
    memory: np.ndarray,
    client: Client,
    batches: Sequence[Batch],
    goal: np.ndarray,
    lr: float,
    kappa: float,
    mu: float,
) -> tuple[Params, np.ndarray]:
    # clientDBE.reset_running_stats: z̄_i^g begins a round at 0
    w, memory, mean = copy(w), np.array(memory), np.zeros(len(goal))
    for index, weight in batches:
        x, y = client["x"][index], client["y"][index]
        h = features(w, x)
        # clientDBE.train: (1 - momentum) * running_mean + momentum * the mini-batch's mean
        mean = (1 - mu) * mean + mu * sum(r * row for r, row in zip(weight, h, strict=True))
        # clientDBE.train: head(rep + client_mean)
        dscores = cross_entropy_dlogits(scores(w, h + memory), y, weight)
        # reg_loss: the mean square over features; detach_running: only the newest mean has a slope
        pull = np.outer(weight, kappa * 2.0 * (mean - goal) / len(goal) * mu)
        slope = backward(w, x, dscores, pull)
        slope["out.weight"] = dscores.T @ (h + memory)
        down = (dscores @ w["out.weight"]).sum(axis=0)
        # optimizer.step and opt_client_mean.step: one gradient, one learning rate
        w = {name: value - lr * slope[name] for name, value in w.items()}
        memory = memory - lr * down
    return w, memory


def feddbe(
    start: Params,
    data: Mapping[int, Client],
    plan: Plan,
    goal: np.ndarray,
    participants: Sequence[Sequence[int]],
    lr: Sequence[float],
    kappa: float,
    mu: float,
) -> list[Snapshot]:
    """{"global": w, "memory": {k: z̄_k^p of those that have one}} after each round."""
    w, memory = copy(start), {}  # clientDBE.__init__: client_mean begins at 0
    history: list[Snapshot] = []
    for t in range(len(plan)):
        up = {}
        for k in participants[t]:
            mine = memory.get(k, np.zeros(len(goal)))
            rates = at(lr, t), kappa, mu
            up[k], memory[k] = trained(w, mine, data[k], plan[t][k], goal, *rates)
        # serverDBE.train: receive_models and aggregate_parameters of the base class, by samples
        total = sum(size(data[k]) for k in up)
        w = combine(list(up.values()), [size(data[k]) / total for k in up])
        history.append({"global": copy(w), "memory": dict(memory)})
    return history
