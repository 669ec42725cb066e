"""FedPer (Arivazhagan et al., 2019): base layers are shared, the head is personal. Algorithms 1 and
2.
"""

from collections.abc import Sequence

from fedkin.core.aggregation import Weights
from fedkin.core.hyperparameters import declared
from fedkin.core.method import Method
from fedkin.methods.partial_fl import partial_fl


@declared
def fedper(
    *, lr: float, personal: str | Sequence[str] = "last", weights: Weights = "samples"
) -> Method:
    """FedPer: base and personal layers take the same SGD steps; the server averages the base
    layers.

    lr: learning rate of SGD. personal: which layers are personal, by name: prefixes of parameter
    names ("classifier."), "last" (the output layer, K_P = 1), "first", "all", or () for none.
    weights: of the mean, by samples or uniform.

    Readings: the personal layers of all clients start from the same draw (the paper's are each
    client's own draw); a client that rejoins goes on with the head that it had.
    """
    base = partial_fl(lr=lr, personal=personal, schedule="simultaneous")
    return base._replace(
        name="fedper",
    )
