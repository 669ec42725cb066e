"""PPFL: canonical models and membership vectors, with plain loops.

PPFL, Algorithms 1 and 2 (`schedule="random"`), Algorithm 3 (`schedule="alternate"`), eqs. 11, 12,
15-25; METHODS.md sections 4, 11.

θ is {"com": the shared parameters (possibly none), "canonical": [θ_1 … θ_K]}; a client's model k
has the parameters of both. Structure 1 mixes OUTPUTS: sum_k c_k * out_k, out_k = logits of model k
for classes ("softmax"), the MEAN g⁻¹(x·θ_k) for a GLM (eq. 11). Structure 2 mixes PARAMETERS: model
of sum_k c_k θ_k (eq. 12). mix="model" mixes once, behind the whole canonical module; mix="layer"
(structure 1, a dnn that is canonical as a whole) mixes behind each linear layer, before the
activation. Families: "softmax" (cross-entropy), "linear" (½ (y - ŷ)²), "logistic" (Bernoulli nll of
ŷ), "poisson" (ŷ - y log ŷ); a GLM is an mlr of one output, {"weight": [1, d]} and, where wanted,
"bias": [1]. A loss is the weighted mean over the batch.

Readings:
- Algorithm 3 prints ∇f(θ^t) and sets θ_{i,0} inside the loop over τ; Algorithm 2 and eq. 19 have
  θ_{i,τ} and the
  start before the loop.
- Algorithm 3 broadcasts λ(LC)_i and refers to eq. 25, which has 2λ(LC)_i: the client doubles what
  it receives.
- The display between eqs. 21 and 22 has ∇f_i without p_i, eqs. 21, 23, 25 have p_i ∇f_i: c_scale
  "client" and "paper".
- A C-round of Algorithm 1 uses ONE stochastic gradient: the first mini-batch of plan[t][k]
  (c_gradient="batch");
  "full" uses all rows.
- With partial participation the p_i of the θ-average are normalised among the participants, those
  of
  c_scale="paper" are not.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from tests.reference.local_fedavg import Plan
from tests.reference.model import (
    Batch,
    Client,
    Params,
    Snapshot,
    at,
    backward,
    combine,
    copy,
    cross_entropy_dlogits,
    cross_entropy_of_logits,
    dot,
    logits,
    size,
    whole,
)

FLOOR = 1e-6


# --- one client's loss f_i(θ, c) and its gradients


def inverse_link(eta: np.ndarray, family: str) -> np.ndarray:
    if family == "logistic":
        return 1.0 / (1.0 + np.exp(-eta))
    return np.exp(eta) if family == "poisson" else eta


def inverse_link_derivative(eta: np.ndarray, family: str) -> np.ndarray:
    if family == "logistic":
        mean = inverse_link(eta, family)
        return mean * (1.0 - mean)
    return np.exp(eta) if family == "poisson" else np.ones_like(eta)


def output_loss(
    out: np.ndarray, y: np.ndarray, weight: np.ndarray, family: str
) -> tuple[float, np.ndarray]:
    """(loss, d loss / d out): out [b, C] is logits for "softmax", out [b, 1] is the mean ŷ for a
    GLM.
    """
    weight = np.asarray(weight, dtype=np.float64)
    if family == "softmax":
        return cross_entropy_of_logits(out, y, weight), cross_entropy_dlogits(out, y, weight)
    mean, y = out[:, 0], np.asarray(y, dtype=np.float64)
    if family == "linear":
        rows, slope = 0.5 * (y - mean) ** 2, mean - y
    elif family == "logistic":
        rows, slope = (
            -y * np.log(mean) - (1.0 - y) * np.log(1.0 - mean),
            (1.0 - y) / (1.0 - mean) - y / mean,
        )
    elif family == "poisson":
        rows, slope = mean - y * np.log(mean), 1.0 - y / mean
    else:
        raise ValueError(family)
    return float(np.sum(weight * rows)), (weight * slope)[:, None]


def forward(
    theta: dict,
    c: np.ndarray,
    x: np.ndarray,
    structure: int = 1,
    mix: str = "model",
    family: str = "softmax",
) -> np.ndarray:
    """What a client predicts: mixed logits (softmax) or mixed means (GLM)."""
    com, canonical = theta["com"], theta["canonical"]
    if structure == 2:
        return inverse_link(logits({**com, **combine(canonical, c)}, x), family)
    if mix == "layer":
        return _layer_forward(canonical, c, x)[2]
    outs = [inverse_link(logits({**com, **model}, x), family) for model in canonical]
    return sum(c[k] * out for k, out in enumerate(outs))  # type: ignore[return-value]


def loss_and_gradients(
    theta: dict,
    c: np.ndarray,
    x: np.ndarray,
    y: np.ndarray,
    weight: np.ndarray,
    structure: int = 1,
    mix: str = "model",
    family: str = "softmax",
) -> tuple[float, dict, np.ndarray]:
    """(f_i, {"com": …, "canonical": […]} gradient by θ, gradient [K] by c)."""
    com, canonical = theta["com"], theta["canonical"]
    K = len(canonical)
    if structure == 2:
        mixed = {**com, **combine(canonical, c)}
        eta = logits(mixed, x)
        loss, dout = output_loss(inverse_link(eta, family), y, weight, family)
        g = backward(mixed, x, dout * inverse_link_derivative(eta, family))
        by_theta = {
            "com": {name: g[name] for name in com},
            "canonical": [{name: c[k] * g[name] for name in canonical[k]} for k in range(K)],
        }
        return (
            loss,
            by_theta,
            np.array([dot(canonical[k], g, list(canonical[k])) for k in range(K)]),
        )
    if mix == "layer":
        return _layer_gradients(theta, c, x, y, weight, family)
    if mix != "model":
        raise ValueError(mix)
    models = [{**com, **model} for model in canonical]
    etas = [logits(model, x) for model in models]
    outs = [inverse_link(eta, family) for eta in etas]
    loss, dout = output_loss(sum(c[k] * outs[k] for k in range(K)), y, weight, family)  # type: ignore[arg-type]
    com_gradient = {name: np.zeros(np.shape(value)) for name, value in com.items()}
    canonical_gradient, by_c = [], np.zeros(K)
    for k in range(K):
        g = backward(models[k], x, c[k] * dout * inverse_link_derivative(etas[k], family))
        for name in com:
            com_gradient[name] = com_gradient[name] + g[name]
        canonical_gradient.append({name: g[name] for name in canonical[k]})
        by_c[k] = float(np.sum(dout * outs[k]))
    return loss, {"com": com_gradient, "canonical": canonical_gradient}, by_c


def _layer_forward(
    canonical: Sequence[Params], c: np.ndarray, x: np.ndarray
) -> tuple[list, np.ndarray, np.ndarray, list]:
    befores = [x @ m["hidden.weight"].T + m["hidden.bias"] for m in canonical]
    before = sum(c[k] * b for k, b in enumerate(befores))
    hidden = np.maximum(before, 0.0)  # type: ignore[call-overload]
    outs = [hidden @ m["out.weight"].T + m["out.bias"] for m in canonical]
    return befores, before, sum(c[k] * o for k, o in enumerate(outs)), outs  # type: ignore[return-value]


def _layer_gradients(
    theta: dict, c: np.ndarray, x: np.ndarray, y: np.ndarray, weight: np.ndarray, family: str
) -> tuple[float, dict, np.ndarray]:
    if theta["com"] or family != "softmax":
        raise ValueError('mix="layer" is written for a whole canonical dnn')
    canonical = theta["canonical"]
    befores, before, z, outs = _layer_forward(canonical, c, x)
    hidden = np.maximum(before, 0.0)
    loss, dz = output_loss(z, y, weight, family)
    dhidden = sum(c[k] * (dz @ m["out.weight"]) for k, m in enumerate(canonical))
    dbefore = dhidden * (before > 0.0)
    gradient, by_c = [], np.zeros(len(canonical))
    for k in range(len(canonical)):
        gradient.append(
            {
                "hidden.weight": c[k] * (dbefore.T @ x),
                "hidden.bias": c[k] * dbefore.sum(axis=0),
                "out.weight": c[k] * (dz.T @ hidden),
                "out.bias": c[k] * dz.sum(axis=0),
            }
        )
        by_c[k] = float(np.sum(dz * outs[k]) + np.sum(dbefore * befores[k]))
    return loss, {"com": {}, "canonical": gradient}, by_c


# --- membership vectors


def label_affinity(histograms: np.ndarray) -> np.ndarray:
    """W [M, M]: cosine similarity of the clients' label counts [M, C]; a client without labels is
    similar to nobody.
    """
    histograms = np.asarray(histograms, dtype=np.float64)
    M = len(histograms)
    W = np.zeros((M, M))
    for i in range(M):
        for j in range(M):
            norms = np.linalg.norm(histograms[i]) * np.linalg.norm(histograms[j])
            W[i, j] = float(histograms[i] @ histograms[j]) / norms if norms > 0 else 0.0
    return W


def laplacian_row(W: np.ndarray, C: np.ndarray, i: int) -> np.ndarray:
    """(L C)_i = d_ii c_i - sum_j w_ij c_j, d_ii = sum_j w_ij (below eq. 21)."""
    row = np.sum(W[i]) * C[i]
    for j in range(len(C)):
        row = row - W[i, j] * C[j]
    return row


def penalty(W: np.ndarray, C: np.ndarray) -> float:
    """Cᵀ L C = ½ sum_ij w_ij ||c_i - c_j||² (eq. 4 beside eq. 15)."""
    M = len(C)
    return 0.5 * sum(
        float(W[i, j] * np.sum((C[i] - C[j]) ** 2)) for i in range(M) for j in range(M)
    )


def mirror_step(c: np.ndarray, g: np.ndarray, lr: float, floor: float = FLOOR) -> np.ndarray:
    """c ∘ exp(-lr g) / normaliser (eq. 24), then the floor, then normalised again."""
    exponent = -lr * g
    new = c * np.exp(exponent - exponent.max())
    new = new / new.sum()
    new = np.maximum(new, floor)
    return new / new.sum()


# --- the method


def split(params: Params, canonical: Sequence[str] | None) -> tuple[Params, Params]:
    """(θ_com, canonical part) of a model: `canonical` names its parameters, None means
    all of them.
    """
    names = list(params) if canonical is None else list(canonical)
    return {n: params[n] for n in params if n not in names}, {
        n: params[n] for n in params if n in names
    }


def copy_theta(theta: dict) -> dict:
    return {"com": copy(theta["com"]), "canonical": [copy(m) for m in theta["canonical"]]}


def theta_step(theta: dict, gradient: dict, lr: float) -> dict:
    return {
        "com": {n: theta["com"][n] - lr * gradient["com"][n] for n in theta["com"]},
        "canonical": [
            {n: m[n] - lr * g[n] for n in m}
            for m, g in zip(theta["canonical"], gradient["canonical"], strict=True)
        ],
    }


def theta_combine(thetas: Sequence[dict], weights: Sequence[float]) -> dict:
    K = len(thetas[0]["canonical"])
    return {
        "com": combine([t["com"] for t in thetas], weights),
        "canonical": [combine([t["canonical"][k] for t in thetas], weights) for k in range(K)],
    }


def ppfl(
    start: dict,
    data: Mapping[int, Client],
    plan: Plan,
    participants: Sequence[Sequence[int]],
    lr: float | Sequence[float],
    lr_c: float | Sequence[float],
    lam: float,
    affinity: np.ndarray | None = None,
    schedule: str = "alternate",
    blocks: Sequence[str] | None = None,
    structure: int = 1,
    mix: str = "model",
    family: str = "softmax",
    c_scale: str = "client",
    c_gradient: str = "batch",
    weights: str = "samples",
    divide: bool = True,
    c_steps: int = 1,
    membership: Mapping[int, np.ndarray] | None = None,
    floor: float = FLOOR,
) -> list[Snapshot]:
    """`start` = {"com": params, "canonical": [params] * K}; `membership` the c_i to start from
    (default 1/K each).

    affinity: W, rows in the order of `data` (None: no Laplacian). blocks[t]: "theta" or "c", for
    schedule="random". c_gradient: "batch" or "full", the gradient of a C-round of
    schedule="random"; "alternate" always takes the full one. weights: p_i = n_i / Σ n ("samples")
    or 1 / M ("uniform"). divide: a local step on θ is lr / E, E = steps of that client in that
    round (as in both algorithms), else lr. c_steps: mirror steps on c_i a C-round, λ(LC)_i being
    that of its beginning. lr and lr_c: the η of the θ-block and of the C-block. Snapshot:
    {"server": {"theta", "C": {k: c_k}}, "block": "theta" | "c" | "both", "personal": {k: c_k}}: a
    client's model is θ with c_k.
    """
    clients = list(data)
    row = {k: i for i, k in enumerate(clients)}
    K = len(start["canonical"])
    theta = copy_theta(start)
    C = {
        k: np.full(K, 1.0 / K) if membership is None else np.array(membership[k], dtype=np.float64)
        for k in clients
    }
    total = sum(size(data[k]) for k in clients)
    p = {k: 1.0 / len(clients) if weights == "uniform" else size(data[k]) / total for k in clients}
    W = (
        np.zeros((len(clients), len(clients)))
        if affinity is None
        else np.asarray(affinity, dtype=np.float64)
    )
    how = {"structure": structure, "mix": mix, "family": family}

    def gradients(
        at_theta: dict, c: np.ndarray, k: int, batch: Batch
    ) -> tuple[float, dict, np.ndarray]:
        index, weight = batch
        return loss_and_gradients(
            at_theta, c, data[k]["x"][index], data[k]["y"][index], weight, **how
        )

    def client_c_gradient(k: int, c: np.ndarray, batch: Batch) -> np.ndarray:
        """g_i (Algorithm 2, second procedure)."""
        g = gradients(theta, c, k, batch)[2]
        if c_scale == "paper":
            return p[k] * g
        if c_scale == "client":
            return g
        raise ValueError(c_scale)

    def new_membership(batch_of: Mapping[int, Batch], t: int) -> dict[int, np.ndarray]:
        """Eq. 24 for the participants: all of them from the same C^t."""
        before = np.array([C[k] for k in clients])
        new = dict(C)
        for k in batch_of:
            pull = lam * laplacian_row(
                W, before, row[k]
            )  # what the server broadcasts in Algorithm 3
            for _ in range(c_steps):
                new[k] = mirror_step(
                    new[k],
                    client_c_gradient(k, new[k], batch_of[k]) + 2.0 * pull,
                    at(lr_c, t),
                    floor,
                )
        return new

    def local_theta(k: int, t: int) -> dict:
        """Algorithm 2, first procedure: E steps from the global θ with c_k fixed."""
        local = copy_theta(theta)
        steps = plan[t][k]
        for batch in steps:
            # Algorithms 1 and 3: η_1 = η / E
            eta = at(lr, t) / len(steps) if divide else at(lr, t)
            local = theta_step(local, gradients(local, C[k], k, batch)[1], eta)
        return local

    def new_theta(t: int) -> dict:
        """Eq. 19: θ + Σ p_i (θ_{i,E} - θ), p_i among the participants: the mean of the θ_{i,E}."""
        active = list(participants[t])
        share = sum(p[k] for k in active)
        return theta_combine([local_theta(k, t) for k in active], [p[k] / share for k in active])

    history: list[Snapshot] = []
    for t in range(len(plan)):
        if schedule == "alternate":  # Algorithm 3: c_i first, by its whole gradient, then θ
            block = "both"
            C = new_membership({k: whole(data[k]) for k in participants[t]}, t)
            theta = new_theta(t)  # with the new c
        elif schedule == "random":  # Algorithm 1: one block a round, by Algorithm 2
            if blocks is None:
                raise ValueError('schedule="random" needs blocks')
            block = blocks[t]
            if block == "theta":
                theta = new_theta(t)
            elif block == "c":
                full = c_gradient == "full"
                C = new_membership(
                    {k: whole(data[k]) if full else plan[t][k][0] for k in participants[t]}, t
                )
            else:
                raise ValueError(block)
        else:
            raise ValueError(schedule)
        memberships = {k: C[k].copy() for k in clients}
        history.append(
            {
                "server": {"theta": copy_theta(theta), "C": memberships},
                "block": block,
                "personal": dict(memberships),
            }
        )
    return history


def iterate_probabilities(
    lr: Sequence[float], rho: tuple[float, float], L: tuple[float, float]
) -> np.ndarray:
    """Eq. 16: P(t' = t) ∝ η_t min_h ρ_h (1 - γ_{h,t} L_h), γ_1 = 4 η_t, γ_2 = η_t / 2, for the
    rounds of lr (all must be ≥ 0).
    """
    mass = []
    for eta in lr:
        mass.append(eta * min(rho[0] * (1.0 - 4.0 * eta * L[0]), rho[1] * (1.0 - 0.5 * eta * L[1])))
    if min(mass) < 0 or sum(mass) <= 0:
        raise ValueError("the step sizes are too large for eq. 16")
    return np.array(mass) / sum(mass)
