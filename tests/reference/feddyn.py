"""FedDyn with plain loops. Acar et al. 2021, Algorithm 1: local loss f_k(v) − ⟨g_k, v⟩ + α/2
‖v − w‖²; g_k ← g_k − α (v − w); h ← h − α/m Σ_{k in P} (v_k − w); w ← mean of v − h/α.

Held against alpemreacar/FedDyn: train_FedDyn of utils_methods.py at be0348b, train_feddyn_mdl of
utils_general.py at 48a19fa. Its local_param_list is −g_k/α.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from tests.reference.local_fedavg import Plan
from tests.reference.model import Client, Params, Snapshot, at, batch_gradient, copy


def feddyn(
    start: Params,
    data: Mapping[int, Client],
    plan: Plan,
    participants: Sequence[Sequence[int]],
    lr: Sequence[float],
    alpha: float,
) -> list[Snapshot]:
    """{"model": w, "h": h, "slopes": {k: g_k}} after each round."""
    # train_FedDyn: local_param_list is zeros, cld_mdl_param the initial model's
    w, h = copy(start), {name: np.zeros_like(value) for name, value in start.items()}
    slopes = {k: {name: np.zeros_like(value) for name, value in start.items()} for k in data}
    history: list[Snapshot] = []
    for t in range(len(plan)):
        ended = {}
        for k in participants[t]:
            v = copy(w)  # train_FedDyn loads cld_model
            for batch in plan[t][k]:
                # train_feddyn_mdl: loss + α ⟨v, −w + local_param⟩, and α as weight decay
                slope = batch_gradient(v, data[k], batch)
                v = {
                    name: v[name]
                    - at(lr, t) * (slope[name] - slopes[k][name] + alpha * (v[name] - w[name]))
                    for name in v
                }
            # train_FedDyn: local_param_list[clnt] += curr_model_par - cld_mdl_param
            slopes[k] = {name: slopes[k][name] - alpha * (v[name] - w[name]) for name in v}
            ended[k] = v
        for name in w:  # h = −α · mean of local_param_list over all clients
            change = sum(v[name] - w[name] for v in ended.values())
            h[name] = h[name] - alpha / len(data) * change
        # train_FedDyn: cld_mdl_param = mean over the selected + mean of local_param_list
        w = {
            name: sum(v[name] for v in ended.values()) / len(ended) - h[name] / alpha for name in w
        }
        kept = {k: copy(g) for k, g in slopes.items()}
        history.append({"model": copy(w), "h": copy(h), "slopes": kept})
    return history
