"""FedPer (Arivazhagan et al., 2019): base layers are shared, the head is personal. Algorithms 1 and
2.
"""

from fedkin.core.hyperparameters import Layers, Weights, declared
from fedkin.core.method import Method
from fedkin.methods.partial_fl import partial_fl


@declared
def fedper(*, lr: float, personal: Layers = "last", weights: Weights = "samples") -> Method:
    """FedPer: base and personal layers take the same SGD steps; the server averages the base
    layers.

    Readings: a client that rejoins goes on with the head that it had.

    Deviations: in the paper each client draws its personal layers; here all start from one draw.

    Args:
        lr: Learning rate of SGD.
        personal: Which layers are personal, by name: prefixes of parameter names ("classifier."),
            "last" (the output layer, K_P = 1), "first", "all", or () for none.
        weights: "samples" or "uniform": the weights of the mean.
    """
    base = partial_fl(lr=lr, personal=personal, schedule="simultaneous", weights=weights)
    return base._replace(name="fedper")
