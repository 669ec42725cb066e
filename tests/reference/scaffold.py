"""SCAFFOLD, with plain loops: Karimireddy et al. 2020, Algorithm 1 with option II, uniform means as
written.

Held against TsingZ0/PFLlib: clientscaffold.py at 2394c8f, serverscaffold.py at 0c46403 (the golden
traces are of a later one, and are met).
"""

from collections.abc import Mapping, Sequence

import numpy as np

from tests.reference.local_fedavg import Plan
from tests.reference.model import Client, Gradient, Params, Snapshot, at, batch_gradient, copy


def scaffold(
    start: Params,
    data: Mapping[int, Client],
    plan: Plan,
    participants: Sequence[Sequence[int]],
    lr: float | Sequence[float],
    server_lr: float = 1.0,
    gradient: Gradient = batch_gradient,
) -> list[Snapshot]:
    """Snapshot: {"server": {"model": x, "control": c}, "moves": {k: Δy_k}, "changes": {k: Δc_k},
    "control": {k: c_k}}.

    x, c, y_i, c_i, K, N and S are the paper's names.
    """
    x = copy(start)
    c = {name: np.zeros_like(value) for name, value in x.items()}
    controls = {k: copy(c) for k in data}
    N = len(data)
    history: list[Snapshot] = []
    for t in range(len(plan)):
        eta, S = at(lr, t), participants[t]
        moves: dict[int, Params] = {}
        changes: dict[int, Params] = {}
        for i in S:
            y, K = copy(x), len(plan[t][i])
            for batch in plan[t][i]:
                g = gradient(y, data[i], batch)
                for name in y:
                    # train: SCAFFOLDOptimizer.step(global_c, client_c)
                    y[name] = y[name] - eta * (g[name] - controls[i][name] + c[name])
            # update_yc; K is there the mini-batches of one epoch, whatever local_epochs
            new = {
                name: controls[i][name] - c[name] + (x[name] - y[name]) / (K * eta) for name in x
            }
            # delta_yc, before c_i is replaced
            moves[i] = {name: y[name] - x[name] for name in x}
            changes[i] = {name: new[name] - controls[i][name] for name in x}
            controls[i] = new
        for name in x:
            x[name] = x[name] + server_lr * sum(moves[i][name] for i in S) / len(S)
            # aggregate_parameters: Δy by samples, and every Δc times |S| / N, not 1 / N
            c[name] = c[name] + len(S) / N * sum(changes[i][name] for i in S) / len(S)
        history.append(
            {
                "server": {"model": copy(x), "control": copy(c)},
                "moves": moves,
                "changes": changes,
                "control": dict(controls),
            }
        )
    return history
