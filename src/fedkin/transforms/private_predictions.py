"""Differential privacy of a client that sends nothing but predictions on a public set."""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from torch import Tensor

from fedkin.core.errors import FedkinError
from fedkin.core.kinds import PREDICTIONS
from fedkin.core.method import ClientContext, FederationInit, Method
from fedkin.core.protected.sealed import Uncovered
from fedkin.core.rng import Secret
from fedkin.core.tree import Tree
from fedkin.transforms.protected.data import first_state, without_samples
from fedkin.transforms.setting import Setting


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


def keep_predictions_private(method: Method, setting: Setting, asked: PredictionNoise) -> Method:
    """The method whose clients noise what they send; an introduction may depend on no sample.

    Args:
        method: Its messages hold predictions alone.
        setting: The experiment around it.
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

    return without_introductions(method._replace(client_update=client_update), setting)


def without_introductions(method: Method, setting: Setting) -> Method:
    """The method whose clients introduce themselves by what depends on none of their samples: by
    the state that they began with, whatever they have learned when they are asked.

    Args:
        method: Perhaps without introductions.
        setting: The experiment around it.

    Returns:
        The method. One that begins with something of a client's labels is refused by its ``check``;
        one that looks at samples when a client introduces itself is refused then.
    """
    if method.setup_message is None:
        return method

    def setup_message(own: Tree, data: ClientContext) -> Tree:
        assert method.setup_message is not None
        with _naming(method):
            first = first_state(method, data.model.initial, data.info)
            return method.setup_message(first, without_samples(data))

    def check(start: FederationInit, participants: int) -> None:
        method.check(start, participants)
        info = setting.infos[setting.first]
        with _naming(method):
            first_state(method, start.parameters[info.architecture], info)

    return method._replace(setup_message=setup_message, check=check)


@contextmanager
def _naming(method: Method) -> Iterator[None]:
    """Inside, what no noise covers is refused with the method's name."""
    try:
        yield
    except Uncovered as error:
        raise FedkinError(
            f"[privacy] does not fit the introductions of {method.name}: {error}; try ds_fl"
        ) from None


def _on_simplex(rows: Tensor) -> Tensor:
    """Rows [n, classes] without what is below 0, with sum 1; uniform where nothing is left."""
    left = rows.clamp_min(0)
    mass = left.sum(1, keepdim=True)
    uniform = torch.full_like(left, 1 / rows.shape[1])
    return torch.where(mass > 0, left / mass.clamp_min(torch.finfo(left.dtype).tiny), uniform)
