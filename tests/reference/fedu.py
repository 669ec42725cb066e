"""FedU with plain loops. Dinh et al. 2022, Algorithm 1: w_k,R by local SGD, then, for those of the
round, w_k ← w_k,R − pull Σ_ℓ a_kℓ (w_k,R − w_ℓ,R); who is away has its last model.

Held against CharlieDinh/FedU_FMTL: userFedU.py at 3e77db4, serverFedU.py at fc99270. The page
docs/methods/fedu.md names what that code does otherwise.
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
    w = {k: copy(start) for k in data}  # FedU.train: "only board cast one time"
    history: list[Snapshot] = []
    for t in range(len(plan)):
        trained = dict(w)
        for k in participants[t]:
            # FedU.train: user.train, SGD from the user's own model
            trained[k] = train(w[k], data[k], plan[t][k], at(lr, t))
        w = dict(trained)
        for k in participants[t]:
            moved = copy(trained[k])  # FedU.train: aggregate_parameters, the selected users only
            for j in data:
                if j != k:
                    for name in moved:
                        # aggregate_parameters: avg += akl * (current_task - other_tasks), and
                        # current_task - 0.5 * learning_rate * L_k * beta * local_epochs * avg
                        apart = trained[k][name] - trained[j][name]
                        moved[name] = moved[name] - at(pull, t) * graph[k][j] * apart
            w[k] = moved
        history.append({"own": {k: copy(v) for k, v in w.items()}})
    return history
