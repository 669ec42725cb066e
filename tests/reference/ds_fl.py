"""DS-FL (Itahara et al. 2021) with plain loops, and the distillation step that FedDF and KT-pFL
share with it.

The paper's round: every device trains on private data, predicts the open data, the server averages
the predictions and sharpens them (entropy reduction averaging: softmax of mean / T), every device
distils from the result. A round here begins with the distillation, from the target of the round
before; the first round has none.

Held against kitsuyaazuma/BlazeFL at 35353b7 (code of others): process_client, distill and
global_update of examples/step-by-step-dsfl/algorithm/dsfl.py. FedDF's and KT-pFL's steps are quoted
in their own files.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from tests.reference.local_fedavg import Plan, starts, train
from tests.reference.model import (
    Client,
    Params,
    Snapshot,
    at,
    backward,
    copy,
    log_softmax,
    logits,
    step,
)

Rows = Sequence[np.ndarray]  # of each step: which rows of the public set


def soft_predictions(params: Params, x: np.ndarray, temperature: float = 1.0) -> np.ndarray:
    """softmax(z / T) of each row."""
    return np.exp(log_softmax(logits(params, x) / temperature))


def imitation_loss(
    params: Params, x: np.ndarray, target: np.ndarray, temperature: float = 1.0
) -> float:
    """Cross-entropy of softmax(z / T) with the target, mean of the rows."""
    told = log_softmax(logits(params, x) / temperature)
    return float(
        np.mean(
            [-sum(target[i, c] * told[i, c] for c in range(told.shape[1])) for i in range(len(x))]
        )
    )


def imitation_gradient(
    params: Params, x: np.ndarray, target: np.ndarray, temperature: float = 1.0
) -> Params:
    """d/dz of the cross-entropy of one row is (softmax(z / T) - target) / T where the target sums
    to 1.
    """
    apart = soft_predictions(params, x, temperature) - target
    return backward(params, x, apart / (temperature * len(x)))


def imitate(
    params: Params,
    public: np.ndarray,
    target: np.ndarray,
    rows: Rows,
    lr: float,
    temperature: float = 1.0,
) -> Params:
    w = copy(params)
    for index in rows:
        w = step(w, imitation_gradient(w, public[index], target[index], temperature), lr)
    return w


def sharpened(mean: np.ndarray, temperature: float) -> np.ndarray:
    """exp(p_c / T) / sum over classes of exp(p / T), row by row."""
    rows = []
    for p in mean:
        powers = np.exp((p - p.max()) / temperature)
        rows.append(powers / powers.sum())
    return np.array(rows)


def ds_fl(
    start: Params | Mapping[int, Params],
    data: Mapping[int, Client],
    public: np.ndarray,
    plan: Plan,
    public_plan: Sequence[Mapping[int, Rows]],
    participants: Sequence[Sequence[int]],
    lr: float | Sequence[float],
    distill_lr: float | Sequence[float],
    temperature: float,
) -> list[Snapshot]:
    """Snapshot: {"target": what the participants received (None at first), "messages": {k:
    predictions}, "server": the next target, "personal": {k: params}}.
    """
    models = starts(start, list(data))
    target: np.ndarray | None = None
    history: list[Snapshot] = []
    for t in range(len(plan)):
        received, messages = target, {}
        for k in participants[t]:
            if target is not None:  # "Distill": kl_div, batchmean, of the last soft labels
                models[k] = imitate(models[k], public, target, public_plan[t][k], at(distill_lr, t))
            models[k] = train(models[k], data[k], plan[t][k], at(lr, t))  # "Train"
            # "Predict": softmax of the scores; there on a part drawn anew each round
            messages[k] = soft_predictions(models[k], public)
        total = np.zeros_like(messages[participants[t][0]])
        for k in participants[t]:
            total = total + messages[k]
        # global_update: softmax of the mean of the sampled clients / era_temperature
        target = sharpened(total / len(participants[t]), temperature)
        personal = {k: copy(models[k]) for k in data}
        history.append(
            {"target": received, "messages": messages, "server": target, "personal": personal}
        )
    return history
