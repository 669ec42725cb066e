"""LG-FedAvg (Liang, Liu, Ziyin et al., 2020): local representations, a shared head. Algorithm 1."""

from fedkin.core.hyperparameters import Layers, Weights, declared
from fedkin.core.layers import select
from fedkin.core.method import Method
from fedkin.core.tree import Params
from fedkin.methods.partial_fl import simultaneous
from fedkin.methods.parts.split_model import split_model


@declared
def lg_fedavg(*, lr: float, shared: Layers = "last", weights: Weights = "samples") -> Method:
    """LG-FedAvg: ℓ_i (representation, personal) and g (head, shared) take the same SGD steps; g is
    averaged.

    Deviations: the paper's auxiliary losses on the representation (self-supervision, fairness), its
    ensemble for devices that it has not seen and its clients of different architectures are not
    built. The authors' code starts from a model that FedAvg trained, takes the plain mean, and
    reports for each client the round that was best on test samples; here training starts from the
    initial parameters.

    Args:
        lr: Learning rate of SGD.
        shared: Which layers are global, by name: prefixes of parameter names, "last" (the output
            layer), "first", "all", or () for none.
        weights: "samples" or "uniform": the weights of the mean.
    """

    def personal(parameters: Params) -> frozenset[str]:
        return frozenset(parameters) - select(parameters, shared, "shared layer")

    return split_model(
        name="lg_fedavg", personal=personal, work=simultaneous(lr, lr), weights=weights
    )
