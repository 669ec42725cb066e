"""What a client counts in the server's mean: its training samples, or as much as every other."""

from collections.abc import Mapping
from typing import Literal, get_args

from fedkin.core.errors import unknown
from fedkin.core.method import Method, Reply, ServerContext
from fedkin.core.tree import Tree

Weights = Literal["samples", "uniform"]


def counted(method: Method, weights: Weights) -> Method:
    """The method whose means over replies are weighed as told.

    Args:
        method: Its ``merge`` weighs every mean by ``Reply.weight``.
        weights: "samples" for p_i = n_i / Σ n, "uniform" for 1 / (number of replies).

    Returns:
        The same method, with ``weights`` among its hyper-parameters.

    Raises:
        FedkinError: There is no such rule.
    """
    if weights not in get_args(Weights):
        raise unknown("weights", str(weights), get_args(Weights))

    def merge(state: Tree, replies: Mapping[int, Reply], server: ServerContext) -> Tree:
        return method.server_update(
            state, {k: r._replace(weight=1.0) for k, r in replies.items()}, server
        )

    hyper = {**method.hyper, "weights": weights}
    if weights == "samples":
        return method._replace(hyper=hyper)
    return method._replace(server_update=merge, hyper=hyper)
