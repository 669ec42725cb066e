"""A method of one's own, for experiments by its path: worker processes and nodes import it."""

from fedkin.core.method import Method
from fedkin.methods.fedavg import fedavg


def halved(*, lr: float, share: float = 0.5) -> Method:
    """FedAvg at a share of the learning rate; fedavg's name and hyper-parameters are left to it."""
    return fedavg(lr=share * lr)
