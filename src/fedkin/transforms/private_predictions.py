"""Differential privacy of a client that sends nothing but predictions on a public set."""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from fedkin.core.errors import FedkinError
from fedkin.core.kinds import PREDICTIONS
from fedkin.core.method import ClientContext, Method
from fedkin.core.protected.noise import SampleNoise
from fedkin.core.protected.sealed import Uncovered
from fedkin.core.rng import Secret
from fedkin.core.tree import Tree
from fedkin.transforms.protected.data import protected


@dataclass(frozen=True)
class PredictionNoise:
    """clip: C, the largest distance of a client's predictions from the uniform ones, over all rows
    of the public set. noise: σ, in clips.
    """

    clip: float
    noise: float

    def __call__(self, predictions: Tensor, secret: Secret, round: int) -> Tensor:
        """Predictions as they may leave the client.

        Args:
            predictions: Class probabilities [public, classes].
            secret: The client's.
            round: Each has noise of its own.

        Returns:
            uniform + clipped difference + σ C noise, with rows on the simplex again: [public,
            classes].
        """
        uniform = 1 / predictions.shape[1]
        update = predictions.reshape(-1).to(torch.float64) - uniform
        norm = float(update.norm())
        if not math.isfinite(norm):
            update, norm = torch.zeros_like(update), 0.0
        if norm > self.clip:
            update = update * (self.clip / norm)
        drawn = secret.normal("noise of predictions", round, len(update))
        noised = uniform + update + self.noise * self.clip * drawn
        return _on_simplex(noised.view(predictions.shape)).to(predictions.dtype)


def keep_predictions_private(method: Method, asked: PredictionNoise) -> Method:
    """The method whose clients noise what they send; an introduction may depend on no sample.

    Args:
        method: Its messages hold predictions alone.
        asked: Clip and noise.
    """

    def client_update(received: Tree, own: Tree, data: ClientContext) -> tuple[Tree, Tree]:
        own, message = method.client_update(received, own, data)
        if data.secret is None:
            raise FedkinError(
                "[privacy] needs a secret to draw noise from, and the client has none"
            )
        if set(message) != {PREDICTIONS}:
            raise FedkinError(
                f"[privacy]: clients of {method.name} send more than predictions, which no noise "
                "covers"
            )
        return own, {PREDICTIONS: asked(message[PREDICTIONS], data.secret, data.key.round)}

    return introducing_nothing(method._replace(client_update=client_update))


def introducing_nothing(method: Method) -> Method:
    """The method whose clients introduce themselves by what depends on no training sample.

    Args:
        method: Perhaps without introductions.

    Raises:
        Uncovered: When a client introduces itself: by what it has learned.
    """

    def setup_message(own: Tree, data: ClientContext) -> Tree:
        assert method.setup_message is not None
        nothing = SampleNoise(1.0, 0.0, 1.0, Secret(bytes(32)), data.key.round, dry=True)
        sent = method.setup_message(own, protected(data, nothing))
        if nothing.spent:
            raise Uncovered(
                f"[privacy]: clients of {method.name} train before the first round, which no noise "
                "covers"
            )
        return sent

    return method if method.setup_message is None else method._replace(setup_message=setup_message)


def _on_simplex(rows: Tensor) -> Tensor:
    """Rows [n, classes] without what is below 0, with sum 1; uniform where nothing is left."""
    left = rows.clamp_min(0)
    mass = left.sum(1, keepdim=True)
    uniform = torch.full_like(left, 1 / rows.shape[1])
    return torch.where(mass > 0, left / mass.clamp_min(torch.finfo(left.dtype).tiny), uniform)
