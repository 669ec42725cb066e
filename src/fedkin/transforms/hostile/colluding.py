"""Attackers that send predictions on the public set which they agreed on: an attack on clustering.

Servers that group clients by predictions (``comet``) take those who say the same for a cluster.
Attackers who all say the same have a centroid of their own, or draw the one that is nearest; honest
clients are left with fewer clusters, or distil from what the attackers agreed on.
"""

import torch
from torch import Tensor

from fedkin.core.errors import FedkinError
from fedkin.core.kinds import PREDICTIONS
from fedkin.core.method import ClientContext, FederationInit, Method
from fedkin.core.rng import Key
from fedkin.core.tree import Tree, map_tree
from fedkin.transforms.setting import Setting, first_exchange


def colluding(
    method: Method, setting: Setting, who: frozenset[int], strength: float | None
) -> Method:
    """The method whose attackers mix one agreed answer into their predictions.

    Args:
        method: Its clients send predictions on the public set.
        setting: The experiment; the answer is a function of its seed.
        who: The attackers.
        strength: The share of the agreed answer, at most 1, the default; the rest is their own.
    """
    share = 1.0 if strength is None else strength
    if share > 1:
        raise FedkinError(
            f"transform attack: strength of collude is a share, at most 1, not {share:g}"
        )

    def sent(message: Tree, data: ClientContext) -> Tree:
        if data.info.client not in who or PREDICTIONS not in message:
            return message

        def mixed(own: Tensor) -> Tensor:
            return (1 - share) * own + share * agreed(own, setting.seed)

        return {**message, PREDICTIONS: map_tree(mixed, message[PREDICTIONS])}

    def client_update(received: Tree, own: Tree, data: ClientContext) -> tuple[Tree, Tree]:
        own, message = method.client_update(received, own, data)
        return own, sent(message, data)

    def setup_message(own: Tree, data: ClientContext) -> Tree:
        assert method.setup_message is not None
        return sent(method.setup_message(own, data), data)

    def check(start: FederationInit, participants: int) -> None:
        method.check(start, participants)
        _, expected = first_exchange(method, setting, start)
        if PREDICTIONS not in expected:
            raise FedkinError(
                f"transform attack: clients of {method.name} send no predictions: try kind = "
                "'sign_flip', or comet"
            )

    return method._replace(
        client_update=client_update,
        setup_message=None if method.setup_message is None else setup_message,
        check=check,
    )


def agreed(like: Tensor, seed: int) -> Tensor:
    """One class for sure in each row, drawn from the seed: what all attackers answer.

    Args:
        like: Predictions [public, classes], probabilities.
        seed: Of the run.
    """
    rows, classes = like.shape
    drawn = torch.from_numpy(Key(seed).numpy("colluding").integers(classes, size=rows))
    return torch.nn.functional.one_hot(drawn, classes).to(like.dtype)
