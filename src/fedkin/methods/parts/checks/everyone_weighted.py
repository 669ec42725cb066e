"""Weights by samples where the server adds up what clients send round by round."""

from fedkin.core.aggregation import Weights
from fedkin.core.errors import FedkinError
from fedkin.core.method import FederationInit


def check_everyone_weighted(
    name: str, weights: Weights, start: FederationInit, participants: int
) -> None:
    """Refuse weights by samples where some clients stay away.

    The server adds a round's share of changes to a sum over all clients. Weighted by samples that
    share is Σ of the round's n_i / Σ of all n_i, and no message tells the samples of those away.

    Args:
        name: Of the method.
        weights: Of its mean.
        start: What the server knows of the federation.
        participants: Clients of a round.

    Raises:
        FedkinError: The weights are "samples", and a round has fewer clients than the federation.
    """
    if weights == "samples" and participants < len(start.clients):
        raise FedkinError(
            f"{name}: weights = 'samples' with {participants} of {len(start.clients)} clients a "
            "round would take the server's correction away from the mean of the clients', whose "
            "samples it knows only when they take part: set method.weights to 'uniform', or "
            "run.participation to 1"
        )
