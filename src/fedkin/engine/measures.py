"""What is measured of a finished model beside loss and accuracy: RMSE and MAE of numbers, AUC of
two classes.
"""

import numpy as np
from scipy.stats import rankdata
from torch import Tensor

from fedkin.core.family import Family

TWO = 2  # classes for which AUC is defined


def measures(family: Family, predictions: Tensor, y: Tensor) -> dict[str, float]:
    """{name: value} of predictions (log-probabilities [n, classes], or means [n, 1]) for labels y
    [n].

    "rmse" and "mae" in the units of the label; "auc": the probability that a random sample of class
    1 gets a higher probability of it than one of class 0 (ties count half). What is not defined
    (AUC where y has one class) is missing.
    """
    if not family.classes:
        error = predictions[:, 0].double() - y.double()
        return {"rmse": float(error.square().mean().sqrt()), "mae": float(error.abs().mean())}
    if predictions.shape[1] != TWO:
        return {}
    positive = y.numpy() == 1
    found = _auc((predictions[:, 1] - predictions[:, 0]).double().numpy(), positive)
    return {} if found is None else {"auc": found}


def _auc(
    scores: "np.typing.NDArray[np.float64]", positive: "np.typing.NDArray[np.bool_]"
) -> float | None:
    """The Mann-Whitney statistic over the number of pairs."""
    ones, zeros = int(positive.sum()), int((~positive).sum())
    if not ones or not zeros or not np.isfinite(scores).all():
        return None
    return float((rankdata(scores)[positive].sum() - ones * (ones + 1) / 2) / (ones * zeros))
