"""FedSim (Pillutla et al., 2022): partial personalization, personal and shared layers trained
together.
"""

from fedkin.core.hyperparameters import Layers, Positive, Weights, declared
from fedkin.core.method import Method
from fedkin.methods.partial_fl import partial_fl


@declared
def fedsim(
    *,
    lr: float,
    personal: Layers = "last",
    personal_lr: Positive | None = None,
    weights: Weights = "samples",
) -> Method:
    """FedSim: partial_fl with schedule "simultaneous". FedAlt is partial_fl as it is.

    Readings: those of partial_fl, of which it is the other schedule.

    Deviations: those of partial_fl.

    Args:
        lr: Learning rate of the shared layers.
        personal: Which layers are personal, by name: prefixes of parameter names, "last", "first",
            "all", or () for none.
        personal_lr: Learning rate of the personal layers; lr if not given.
        weights: "samples" or "uniform": the weights of the mean.
    """
    return partial_fl(
        lr=lr, personal=personal, schedule="simultaneous", personal_lr=personal_lr, weights=weights
    )._replace(name="fedsim")
