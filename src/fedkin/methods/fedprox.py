"""FedProx (Li, Sahu, Zaheer, Sanjabi, Talwalkar & Smith, 2020): FedAvg with a proximal term.
Algorithm 2.
"""

from torch import Tensor

from fedkin.core.hyperparameters import NotNegative, Weights, declared
from fedkin.core.method import ClientContext, Method
from fedkin.core.model import Batch, Model
from fedkin.core.ops import descend, gradient, scan
from fedkin.core.tree import Params, Tree, sq_dist
from fedkin.methods.fedavg import fedavg


def _objective(v: Params, model: Model, batch: Batch, anchor: Params, pull: Tensor) -> Tensor:
    """h(v; w) = f(v) + (μ/2) ‖v − w‖² on a mini-batch."""
    return model.loss(v, batch) + pull / 2 * sq_dist(v, anchor)


def proximal_step(
    model: Model, v: Params, batch: Batch, lr: Tensor, pull: Tensor, anchor: Params
) -> Params:
    """v ← v − lr (∇f(v; batch) + pull · (v − anchor)).

    Args:
        model: The client's architecture.
        v: Local parameters.
        batch: One mini-batch.
        lr: Learning rate.
        pull: μ, or what stands in its place (Ditto's λ, FedAMP's λ/α).
        anchor: w, which v is held near to.

    Returns:
        The new v.
    """
    return descend(v, gradient(_objective)(v, model, batch, anchor, pull), lr)


@declared
def fedprox(*, lr: float, mu: NotNegative = 0.01, weights: Weights = "samples") -> Method:
    """FedProx: every participant trains from the global model w and is held near it; the server
    averages.

    Readings: the local problem is solved by the SGD steps of [train] (the paper's γ-inexactness).

    Deviations: the paper's stragglers do fewer steps; here everyone takes the same. The paper draws
    clients with probability p_k and takes the plain mean; here, as in fedavg, participants are
    drawn uniformly and averaged by samples by default.

    Args:
        lr: Learning rate of local SGD.
        mu: μ of (μ/2)‖v − w‖²; 0 is FedAvg. From {0.001, 0.01, 0.1, 1} in the paper, most often 1,
            and 0.01 validated best on the leaderboard's federations. lr · mu should stay below 1.
        weights: "samples" or "uniform": the weights of the server's mean, as in fedavg.
    """

    def client_update(received: Tree, own: Tree, data: ClientContext) -> tuple[Tree, Tree]:
        w = received["parameters"]
        return own, {"parameters": scan(proximal_step, w, data.batches(), lr * data.decay, mu, w)}

    return fedavg(lr=lr, weights=weights)._replace(name="fedprox", client_update=client_update)
