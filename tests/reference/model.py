"""Two models in float64 NumPy with hand-written forward, loss and gradients: no automatic
differentiation anywhere.

`mlr`  multinomial logistic regression  {"weight": [C, d], "bias": [C]}          z = W x + b
`dnn`  one hidden ReLU layer            {"hidden.weight": [h, d], "hidden.bias": [h],
                                         "out.weight": [C, h], "out.bias": [C]}
                                                                          z = V relu(H x + a) + b
The model is recognised by the names of its parameters. `mlr` with C = 1 and no "bias" is a GLM's
linear predictor.

A batch is a pair (index [b], weight [b]): the rows of a client's data and their weights, which sum
to 1; a padding row has weight 0. Its loss is sum over rows of weight * nll, so a batch of n real
rows has weight 1/n on each of them.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

Params = dict[str, np.ndarray]
Client = Mapping[str, np.ndarray]
Batch = tuple[np.ndarray, np.ndarray]
Gradient = Callable[[Params, Client, Batch], Params]
Snapshot = dict[str, Any]


# --- forward and backward


def logits(params: Params, x: np.ndarray) -> np.ndarray:
    """z [b, C] of rows x [b, d]."""
    x = np.asarray(x, dtype=np.float64)
    if "hidden.weight" in params:
        before = x @ params["hidden.weight"].T + params["hidden.bias"]
        return np.maximum(before, 0.0) @ params["out.weight"].T + params["out.bias"]
    z = x @ params["weight"].T
    return z + params["bias"] if "bias" in params else z


def backward(params: Params, x: np.ndarray, dlogits: np.ndarray) -> Params:
    """Gradient with respect to every parameter of any loss whose derivative by the logits is
    dlogits [b, C].

    The derivative of relu at 0 is taken as 0 (PyTorch's choice).
    """
    x = np.asarray(x, dtype=np.float64)
    if "hidden.weight" in params:
        before = x @ params["hidden.weight"].T + params["hidden.bias"]
        hidden = np.maximum(before, 0.0)
        dbefore = (dlogits @ params["out.weight"]) * (before > 0.0)
        return {
            "hidden.weight": dbefore.T @ x,
            "hidden.bias": dbefore.sum(axis=0),
            "out.weight": dlogits.T @ hidden,
            "out.bias": dlogits.sum(axis=0),
        }
    gradient = {"weight": dlogits.T @ x}
    if "bias" in params:
        gradient["bias"] = dlogits.sum(axis=0)
    return gradient


def log_softmax(z: np.ndarray) -> np.ndarray:
    shifted = z - z.max(axis=1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))


def softmax(z: np.ndarray) -> np.ndarray:
    return np.exp(log_softmax(z))


def softmax_vjp(s: np.ndarray, v: np.ndarray) -> np.ndarray:
    """J v for each row, J = diag(s) - s sᵀ the (symmetric) Jacobian of softmax where its output is
    s.
    """
    return s * (v - (s * v).sum(axis=1, keepdims=True))


def one_hot(y: np.ndarray, classes: int) -> np.ndarray:
    rows = np.zeros((len(y), classes))
    for i, label in enumerate(y):
        rows[i, int(label)] = 1.0
    return rows


def cross_entropy(params: Params, x: np.ndarray, y: np.ndarray, weight: np.ndarray) -> float:
    """sum_i weight_i * ( - log softmax(z_i)[y_i] )."""
    return cross_entropy_of_logits(logits(params, x), y, weight)


def cross_entropy_of_logits(z: np.ndarray, y: np.ndarray, weight: np.ndarray) -> float:
    logp = log_softmax(z)
    total = 0.0
    for i in range(len(y)):
        total += float(weight[i]) * -float(logp[i, int(y[i])])
    return total


def cross_entropy_dlogits(z: np.ndarray, y: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """d cross_entropy / d z = weight * (softmax(z) - onehot(y))."""
    return np.asarray(weight, dtype=np.float64)[:, None] * (softmax(z) - one_hot(y, z.shape[1]))


def cross_entropy_gradient(
    params: Params, x: np.ndarray, y: np.ndarray, weight: np.ndarray
) -> Params:
    return backward(params, x, cross_entropy_dlogits(logits(params, x), y, weight))


def accuracy(params: Params, x: np.ndarray, y: np.ndarray) -> float:
    """Share of rows whose largest logit is the label's (a tie goes to the lowest class)."""
    return float(np.mean(np.argmax(logits(params, x), axis=1) == np.asarray(y)))


def mean_loss(params: Params, x: np.ndarray, y: np.ndarray) -> float:
    return cross_entropy(params, x, y, np.full(len(y), 1.0 / len(y)))


# --- batches of a client


def batch_gradient(params: Params, client: Client, batch: Batch) -> Params:
    """Gradient of cross-entropy on one mini-batch: the default `gradient` of every reference."""
    index, weight = batch
    return cross_entropy_gradient(params, client["x"][index], client["y"][index], weight)


def whole(client: Client) -> Batch:
    """All training rows as one batch: the full gradient of f_i."""
    n = size(client)
    return np.arange(n), np.full(n, 1.0 / n)


def size(client: Client) -> int:
    return len(client["y"])


def at(value: float | Sequence[float], t: int) -> float:
    """A constant, or the value of round t of a schedule."""
    return float(value) if np.isscalar(value) else float(value[t])  # type: ignore[index]


# --- arithmetic on parameters


def copy(params: Params) -> Params:
    return {name: np.array(value, dtype=np.float64) for name, value in params.items()}


def step(params: Params, gradient: Params, lr: float) -> Params:
    """w - lr * gradient."""
    return {name: params[name] - lr * gradient[name] for name in params}


def combine(models: Sequence[Params], weights: Sequence[float]) -> Params:
    """sum_i weight_i * model_i (weights as given, not normalised)."""
    total = {name: np.zeros(np.shape(value)) for name, value in models[0].items()}
    for model, weight in zip(models, weights, strict=True):
        for name in total:
            total[name] = total[name] + weight * model[name]
    return total


def dot(a: Params, b: Params, names: Sequence[str] | None = None) -> float:
    return float(sum(np.sum(a[name] * b[name]) for name in (names if names is not None else a)))


def flatten(params: Params) -> np.ndarray:
    return np.concatenate([np.asarray(params[name], dtype=np.float64).ravel() for name in params])


def unflatten(vector: np.ndarray, like: Params) -> Params:
    out, start = {}, 0
    for name, value in like.items():
        count = int(np.size(value))
        out[name] = np.array(vector[start : start + count]).reshape(np.shape(value))
        start += count
    return out
