"""What a client counts in the server's mean: its training samples, or as much as every other."""

from typing import get_args

from fedkin.core.aggregation import Weights
from fedkin.core.errors import unknown
from fedkin.core.method import Method


def counted(method: Method, weights: Weights) -> Method:
    """The method whose means over replies are weighed as told.

    Args:
        method: Its ``server_update`` weighs every mean by ``Reply.weight``, or declares its sum.
        weights: "samples" for p_i = n_i / Σ n, "uniform" for 1 / (number of replies).

    Returns:
        The same method, with ``weights`` among its hyper-parameters.

    Raises:
        FedkinError: There is no such rule.
    """
    if weights not in get_args(Weights):
        raise unknown("weights", str(weights), get_args(Weights))
    aggregation = method.aggregation._replace(weight=weights)
    return method._replace(aggregation=aggregation, hyper={**method.hyper, "weights": weights})
