"""kNN-Per with plain loops. Marfoq et al. 2022: FedAvg's model h; of the client's training samples
the k whose features are nearest to f(x), each counting e^{−distance/scale} for its class; λ by
validation data.

Held against omarfoq/knn-per: KNNPerClient of client.py at 43f66e4, datastore.py, eval_knnper.py and
learners/learner.py at 88ff40c, CentralizedAggregator of aggregator.py at 8202545.
"""

import numpy as np

from tests.reference.headed import features, scores
from tests.reference.model import Client, Params, softmax


def neighbours(w: Params, client: Client, x: np.ndarray, k: int, scale: float) -> np.ndarray:
    # build_datastore: the features of the training samples, in evaluation mode, with their labels
    kept, classes = features(w, client["x"]), len(w["out.bias"])
    told = np.zeros((len(x), classes))
    for i, h in enumerate(features(w, x)):
        apart = [float(np.sqrt(np.sum((h - other) ** 2))) for other in kept]
        # gather_knn_outputs: index.search(features, k) of IndexFlatL2
        nearest = sorted(range(len(kept)), key=lambda s: (apart[s], s))[:k]
        for s in nearest:
            # similarities: exp(−distance² / (features · scale)) in that code
            told[i, int(client["y"][s])] += np.exp(-apart[s] / scale)
        told[i] /= told[i].sum()  # (similarities * masks).sum / similarities.sum
    return told


def mixed(
    w: Params, client: Client, x: np.ndarray, k: int, scale: float, share: float
) -> np.ndarray:
    """Probabilities λ h_kNN + (1 − λ) h, as evaluate mixes them by its "weight"."""
    ours = softmax(scores(w, features(w, x)))
    return share * neighbours(w, client, x, k, scale) + (1 - share) * ours


def loss_and_right(told: np.ndarray, y: np.ndarray) -> tuple[float, float]:
    losses = [-np.log(max(row[int(label)], 1e-30)) for row, label in zip(told, y, strict=True)]
    return float(np.mean(losses)), float(np.mean(told.argmax(axis=1) == y))


def share_of(w: Params, client: Client, k: int, scale: float) -> float:
    """The λ of 0, 0.1, … 1 that is best on validation data.

    eval_knnper_grid tells the accuracy of every λ of such a grid, on test samples.
    """
    found = []
    for step in range(11):
        told = mixed(w, client, client["x_val"], k, scale, step / 10)
        loss, right = loss_and_right(told, client["y_val"])
        found.append((-right, loss, step / 10))
    return min(found)[2]
