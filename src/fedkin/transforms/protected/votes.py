"""Votes with noise on a public set: what the server makes of predictions, where it is trusted.

Source: Papernot, Song, Mironov, Raghunathan, Talwar & Erlingsson: Scalable private learning with
PATE, 2018, section 3 (GNMax, with a Gaussian noise on the votes of every public row).
"""

from collections.abc import Callable, Mapping

import torch
from torch import Tensor

from fedkin.core.aggregation import Combined, Contributions, Reply, WeightedSum
from fedkin.core.errors import FedkinError, Halted
from fedkin.core.kinds import PREDICTIONS
from fedkin.core.method import Method, ServerContext
from fedkin.core.rng import Secret
from fedkin.core.tree import Tree
from fedkin.transforms.private_predictions import without_introductions
from fedkin.transforms.setting import Setting, blind

NOISE = "noise of votes"


def keep_votes_private(method: Method, setting: Setting, noise: float) -> Method:
    """The method whose server learns of its clients' predictions which class has most votes, row by
    row of the public set.

    Each client has one vote a row: over n rows its votes have the norm √n, so that noise of
    standard deviation σ √n on every count is σ in clips. The server's update receives the winners
    as the message of every client, those who took no part too: its state tells no more than they
    do.

    Args:
        method: Its clients send predictions alone.
        setting: The experiment around it.
        noise: σ, in the norm of a client's votes.
    """
    if isinstance(method.aggregation, WeightedSum):
        return without_introductions(_by_rule(method, method.aggregation, setting, noise), setting)
    update: Callable[[Tree, Mapping[int, Reply], ServerContext], Tree] = method.server_update

    def server_update(state: Tree, replies: Mapping[int, Reply], server: ServerContext) -> Tree:
        like = _expected(method, setting, method.broadcast(state, setting.first))
        said = [reply.message[PREDICTIONS] for reply in replies.values()]
        found = {PREDICTIONS: winners(said, like, noise, server.secret, server.key.round)}
        return update(state, {client: Reply(found, 1.0) for client in setting.infos}, server)

    return without_introductions(method._replace(server_update=server_update), setting)


def _by_rule(method: Method, summed: WeightedSum, setting: Setting, noise: float) -> Method:
    """The winners in the place of a declared mean of predictions."""

    def rule(given: Contributions) -> Combined:
        like = _expected(method, setting, given.received(setting.first))
        said = [reply.message[PREDICTIONS] for reply in given.replies.values()]
        return Combined({PREDICTIONS: winners(said, like, noise, given.secret, given.round)})

    everybody = blind(method, float(len(setting.infos)))
    return method._replace(aggregation=summed._replace(rule=rule), server_update=everybody)


def _expected(method: Method, setting: Setting, received: Tree) -> Tensor:
    """Predictions of the shape that a client sends."""
    found: Tensor = method.expected_update(received, setting.infos[setting.first])[PREDICTIONS]
    return found


def winners(
    said: list[Tensor], like: Tensor, noise: float, secret: Secret | None, round: int
) -> Tensor:
    """The class with most votes, noise added, in every row.

    Args:
        said: Predictions of each client [rows, classes], perhaps of nobody.
        like: Of the same shape.
        noise: σ, in the norm of a client's votes.
        secret: The server's.
        round: Each has noise of its own.

    Returns:
        1 for the winner and 0 for the others, [rows, classes].

    Raises:
        Halted: There is no secret.
    """
    if secret is None:
        raise Halted("[privacy] needs a secret to draw noise from, and the run has none")
    rows, classes = like.shape
    counts = torch.zeros(rows, classes, dtype=torch.float64)
    for predictions in said:
        counts += votes(predictions)
    height = noise * rows**0.5
    counts += height * secret.normal(NOISE, round, rows * classes).view(rows, classes)
    return torch.nn.functional.one_hot(counts.argmax(1), classes).to(like.dtype)


def votes(predictions: Tensor) -> Tensor:
    """One client's votes [rows, classes]: 1 for its best class; none in a row that is not finite.

    Raises:
        FedkinError: There is nothing to choose from.
    """
    if predictions.shape[1] < 2:
        raise FedkinError(
            "[privacy] where = 'server' lets clients vote for classes, and these predictions are "
            "numbers: take where = 'client'"
        )
    one = torch.nn.functional.one_hot(predictions.argmax(1), predictions.shape[1]).to(torch.float64)
    return one * torch.isfinite(predictions).all(1, keepdim=True)
