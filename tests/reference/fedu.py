"""FedU with plain loops. Dinh et al. 2022, Algorithm 1: w_k,R by local SGD, then, for those of the
round, w_k ← w_k,R − pull Σ_ℓ a_kℓ (w_k,R − w_ℓ,R); who is away has its last model.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from tests.reference.local_fedavg import Plan, train
from tests.reference.model import Client, Params, Snapshot, at, copy


def fedu(
    start: Params,
    data: Mapping[int, Client],
    plan: Plan,
    participants: Sequence[Sequence[int]],
    lr: Sequence[float],
    pull: Sequence[float],
    graph: np.ndarray,
) -> list[Snapshot]:
    """{"own": {k: w_k}} after each round."""
    w = {k: copy(start) for k in data}
    history: list[Snapshot] = []
    for t in range(len(plan)):
        trained = dict(w)
        for k in participants[t]:
            trained[k] = train(w[k], data[k], plan[t][k], at(lr, t))
        w = dict(trained)
        for k in participants[t]:
            moved = copy(trained[k])
            for j in data:
                if j != k:
                    for name in moved:
                        apart = trained[k][name] - trained[j][name]
                        moved[name] = moved[name] - at(pull, t) * graph[k][j] * apart
            w[k] = moved
        history.append({"own": {k: copy(v) for k, v in w.items()}})
    return history
