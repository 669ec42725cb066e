"""Training on all data in one place: a comparator outside federation, what pooling the clients'
data would give.
"""

from fedkin.core.hyperparameters import declared
from fedkin.core.method import Method, Needs
from fedkin.methods.fedavg import fedavg


@declared
def centralized(*, lr: float) -> Method:
    """One model, trained by SGD on the union of all clients' training data, and evaluated at every
    client.

    Reading: as FedAvg with one participant a round, whose training data are everybody's; so
    run.participation has no say. No federation could run it: the data would have to be sent, and
    that is not in its ledger.

    Args:
        lr: Learning rate of SGD. Batches and steps come from [train]: a round is that many steps,
            or passes over the union.
    """
    return fedavg(lr=lr)._replace(name="centralized", needs=Needs(pooled=True))
