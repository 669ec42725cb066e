"""FedBN (Li, Jiang, Zhang, Kamp & Dou, 2021): batch norm's layers stay at home. Algorithm 1."""

from fedkin.core.hyperparameters import Layers, Weights, declared
from fedkin.core.method import Method
from fedkin.methods.fedper import fedper


@declared
def fedbn(*, lr: float, personal: Layers = "norm", weights: Weights = "uniform") -> Method:
    """FedBN: local SGD on the whole model; all but batch norm's layers (their weights, biases and
    running statistics) are averaged.

    Readings: a client that was away goes on with the layers that it had.

    Deviations: the paper's appendix tests unknown clients with the mean of the others' layers,
    which no client here sends. A new client has those of the initial model until it has trained.

    Args:
        lr: Learning rate of SGD.
        personal: Which layers stay at home, by name; "norm" is every layer that has running
            statistics.
        weights: "samples" or "uniform": the weights of the mean; the paper's server takes the plain
            mean over clients.
    """
    return fedper(lr=lr, personal=personal, weights=weights)._replace(name="fedbn")
