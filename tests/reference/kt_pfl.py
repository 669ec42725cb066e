"""KT-pFL (Zhang et al. 2021) with plain loops; METHODS.md section 5.

Server, after each round: kappa <- projection of kappa - eta * gradient of
    sum over k of [ lam * mean over x of KL( sum_j kappa_kj z_j(x) || z_k(x) )
                    + rho * || kappa_k - 1/M ||^2 ]
on the simplex, row by row; client k's team is sum_j kappa_kj z_j. Clients that never took part are
in no team.

Held against the authors' code, cugzj/KT-pFL at e74c2f9: predict, get_models_logits,
train_one_model and collaborative_training of src/engine_kt_pfl.py. There everybody takes part.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from tests.reference.ds_fl import Rows, imitate, soft_predictions
from tests.reference.local_fedavg import Plan, starts, train
from tests.reference.model import Client, Params, Snapshot, at, copy


def kl(p: np.ndarray, q: np.ndarray) -> float:
    """Mean over rows of sum over classes of p log(p / q)."""
    return float(
        np.mean(
            [
                sum(a * np.log(a / b) for a, b in zip(x, y, strict=True))
                for x, y in zip(p, q, strict=True)
            ]
        )
    )


def objective(row: np.ndarray, own: int, z: Sequence[np.ndarray], lam: float, rho: float) -> float:
    """The part of one client's row of kappa."""
    team = sum(weight * one for weight, one in zip(row, z, strict=True))
    return lam * kl(team, z[own]) + rho * float(sum((weight - 1 / len(row)) ** 2 for weight in row))


def slope(row: np.ndarray, own: int, z: Sequence[np.ndarray], lam: float, rho: float) -> np.ndarray:
    """Its derivative by each weight j: lam * mean over x of sum_c z_j (log(team / z_own) + 1) + 2
    rho (w_j - 1/n).
    """
    team = sum(weight * one for weight, one in zip(row, z, strict=True))
    found = []
    for j, weight in enumerate(row):
        total = 0.0
        for x in range(len(team)):
            for c in range(team.shape[1]):
                total += z[j][x, c] * (np.log(team[x, c] / z[own][x, c]) + 1.0)
        found.append(lam * total / len(team) + 2.0 * rho * (weight - 1.0 / len(row)))
    return np.array(found)


def onto_simplex(v: np.ndarray) -> np.ndarray:
    """max(v - theta, 0) with the theta that makes the sum 1, by bisection."""
    low, high = float(v.min()) - 1.0, float(v.max())
    for _ in range(200):
        middle = (low + high) / 2.0
        if sum(max(x - middle, 0.0) for x in v) > 1.0:
            low = middle
        else:
            high = middle
    return np.array([max(x - (low + high) / 2.0, 0.0) for x in v])


def kt_pfl(
    start: Params | Mapping[int, Params],
    data: Mapping[int, Client],
    public: np.ndarray,
    plan: Plan,
    public_plan: Sequence[Mapping[int, Rows]],
    participants: Sequence[Sequence[int]],
    lr: float | Sequence[float],
    distill_lr: float | Sequence[float],
    kappa_lr: float | Sequence[float],
    lam: float,
    rho: float,
    temperature: float,
) -> list[Snapshot]:
    """Snapshot: {"teams": {k: what it received} (empty at first), "messages": {k: predictions},
    "knowledge": [M, M], "server": {k: the next team}, "personal": {k: params}}.
    """
    models = starts(start, list(data))
    m = len(data)
    kappa = np.full((m, m), 1.0 / m)
    last: dict[int, np.ndarray] = {}  # the last predictions of everybody who took part so far
    teams: dict[int, np.ndarray] = {}
    history: list[Snapshot] = []
    for t in range(len(plan)):
        received, messages = teams, {}
        for k in participants[t]:
            if teams:  # train_one_model without with_softmax: KL_loss, scores over Temp
                models[k] = imitate(
                    models[k], public, teams[k], public_plan[t][k], at(distill_lr, t), temperature
                )
            # then private data, for one epoch more each round up to the number set
            models[k] = train(models[k], data[k], plan[t][k], at(lr, t))
            # predict: softmax of the scores over T, on an alignment set drawn anew
            messages[k] = soft_predictions(models[k], public, temperature)
        last = {**last, **messages}
        seen = sorted(last)
        z = [last[j] for j in seen]
        mass = (
            len(seen) / m
        )  # what a row gives to clients that were seen; 1/m waits with each of the others
        renewed = kappa.copy()
        for k in seen:
            row = np.array([kappa[k, j] / mass for j in seen])
            # get_models_logits: MSELoss in KL's place, penalty_ratio times that to 1/N; softmax(5κ)
            moved = onto_simplex(row - at(kappa_lr, t) * slope(row, seen.index(k), z, lam, rho))
            for j, weight in zip(seen, moved, strict=True):
                renewed[k, j] = mass * weight
        kappa = renewed
        # get_models_logits, its end: models_logits by the new weights
        teams = {k: sum(kappa[k, j] / mass * last[j] for j in seen) for k in range(m)}
        personal = {k: copy(models[k]) for k in data}
        history.append(
            {
                "teams": received,
                "messages": messages,
                "knowledge": kappa,
                "server": teams,
                "personal": personal,
            }
        )
    return history
