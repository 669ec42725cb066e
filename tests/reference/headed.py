"""The one-hidden-layer net of tests/reference/model.py in two halves, features h = relu(H x + a)
and scores V h + b, with the gradient of losses that look at either.
"""

from collections.abc import Mapping

import numpy as np

from tests.reference.model import Batch, Client, Params, cross_entropy_dlogits

HEAD = ("out.weight", "out.bias")


def features(params: Params, x: np.ndarray) -> np.ndarray:
    return np.maximum(x @ params["hidden.weight"].T + params["hidden.bias"], 0.0)


def scores(params: Params, h: np.ndarray) -> np.ndarray:
    return h @ params["out.weight"].T + params["out.bias"]


def backward(
    params: Params, x: np.ndarray, dscores: np.ndarray, dfeatures: np.ndarray | float = 0.0
) -> Params:
    """Gradient of a loss with derivative dscores by the scores and, beside what comes through
    these, dfeatures by the features.
    """
    h = features(params, x)
    inside = (dscores @ params["out.weight"] + dfeatures) * (h > 0.0)
    return {
        "hidden.weight": inside.T @ x,
        "hidden.bias": inside.sum(axis=0),
        "out.weight": dscores.T @ h,
        "out.bias": dscores.sum(axis=0),
    }


def drawn_gradient(
    w: Params, client: Client, batch: Batch, centroids: Mapping[int, np.ndarray], lam: float
) -> Params:
    """Of the cross-entropy and λ times the mean square between each sample's features and what its
    class is drawn to, where it has that: MSELoss in the authors' code of FedProto, FedTGP and
    FedPAC.
    """
    index, weight = batch
    x, y = client["x"][index], client["y"][index]
    h = features(w, x)
    pull = np.zeros_like(h)
    for i, label in enumerate(y):
        if int(label) in centroids:
            pull[i] = lam * weight[i] * 2.0 * (h[i] - centroids[int(label)]) / h.shape[1]
    return backward(w, x, cross_entropy_dlogits(scores(w, h), y, weight), pull)
