"""Differential privacy of a client as a whole: each update is clipped, and noise is added.

Source: McMahan, Ramage, Talwar & Zhang: Learning differentially private recurrent language models,
2018, Algorithm 1 (flat clipping, the estimator with a fixed denominator q·M). A clip that follows
the updates is ``protected.adaptive_clip``.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import torch
from torch import Tensor

from fedkin.core.aggregation import Combined, Contributions, Rule, WeightedSum
from fedkin.core.errors import FedkinError, Halted
from fedkin.core.kinds import PREDICTIONS
from fedkin.core.method import ClientContext, FederationInit, Method
from fedkin.core.rng import Secret
from fedkin.core.tree import Tree, is_buffer, named_leaves
from fedkin.transforms.private_predictions import PredictionNoise, keep_predictions_private
from fedkin.transforms.protected.adaptive_clip import (
    CLIP,
    FEDERATION,
    NEXT,
    ClipQuantile,
    count_noise,
    following,
    is_short,
    next_clip,
    split_noise,
)
from fedkin.transforms.protected.sent_message import sent_message
from fedkin.transforms.protected.votes import keep_votes_private
from fedkin.transforms.robust import factor
from fedkin.transforms.setting import Setting, blind, declared_sum, first_exchange
from fedkin.transforms.updates import base_of, flattened, unflattened

NOISE = "noise"  # the purpose of its randomness


class Guarantee(NamedTuple):
    """clip: C, the largest norm of an update. noise: σ, in clips. at_client: each adds its own.
    shared: what one adds is a share of the noise, and only the sum has all of it. quantile: the
    server moves the clip along it, which begins with ``clip``; None: the clip stays.
    """

    clip: float
    noise: float
    at_client: bool = False
    shared: bool = False
    quantile: ClipQuantile | None = None


def keep_private(method: Method, setting: Setting, asked: Guarantee) -> Method:
    """The method whose declared sum is differentially private for each client.

    Clients count alike. At the server: the sum of clipped updates, divided by the expected number
    of participants, with noise of standard deviation σ·C on the sum. At the client: the same noise
    on every update. Where the clip follows a quantile, σ is what updates and clip cost together.

    Args:
        method: It declares a weighted sum of updates, and sends nothing beside it.
        setting: The experiment around it; its share is the chance that a client takes part.
        asked: Clip and noise.

    Raises:
        FedkinError: The method has no sum, or another rule stands in its place.
    """
    if _sends_predictions(method) and not method.needs.pooled:
        if method.sends_scores:
            raise FedkinError(
                f"[privacy] noises class probabilities, and clients of {method.name} send logits, "
                "which have no bound: try ds_fl"
            )
        checked = method._replace(check=_predicting(method, setting, asked))
        if not asked.at_client:
            return keep_votes_private(checked, setting, asked.noise)
        return keep_predictions_private(checked, setting, PredictionNoise(asked.clip, asked.noise))
    summed = declared_sum(method, "privacy", setting, "[privacy]")
    if summed.rule is not None:
        raise FedkinError(
            "[privacy] takes a clipped mean with noise, and another rule stands in its place: take "
            "it out of [[transforms]], or leave [privacy] out"
        )
    alike = summed._replace(weight="uniform")
    private = method._replace(aggregation=alike, check=_checked(method, setting, summed.kinds))
    if asked.at_client:
        return private._replace(client_update=_noised(method, asked, summed))
    expected = setting.share * setting.clients
    rule = noised_mean(asked, expected, summed.kinds, setting.first)
    private = private._replace(aggregation=alike._replace(rule=rule))
    server_update = blind(method, expected)
    if asked.quantile is not None:
        return following(private, asked.quantile, server_update)
    return private._replace(server_update=server_update)


def _sends_predictions(method: Method) -> bool:
    """Whether noise belongs on predictions: they are no update of what a client was sent."""
    how = method.aggregation
    return not isinstance(how, WeightedSum) or how.kinds == (PREDICTIONS,)


def noised_mean(asked: Guarantee, expected: float, kinds: tuple[str, ...], first: int) -> Rule:
    """The rule: base + (Σ clipped updates + σ C noise) / expected.

    Args:
        asked: Clip and noise.
        expected: Participants of a round, on average: q·M, not those of this round.
        kinds: What is summed.
        first: Any client: what it is sent, all are.
    """

    def combine(given: Contributions) -> Combined:
        if given.secret is None:
            raise Halted("[privacy] needs a secret to draw noise from, and the run has none")
        now = _of_round(asked, expected, given.state)
        received = given.received(first)
        like = {kind: received[kind] for kind in kinds}
        base = base_of(like, received, given.differences)
        total, short = torch.zeros_like(base), 0
        for client, reply in given.replies.items():
            own = base_of(reply.message, given.received(client), given.differences)
            if not torch.equal(own, base):
                raise Halted("[privacy]: clients are sent different models: their sum hides nobody")
            update = flattened(reply.message) - base
            total += clipped(update, now.clip)
            if asked.quantile is not None:
                short += is_short(update, now.clip)
        total += noise_of(given.secret, given.round, len(base), now)
        combined = Combined(unflattened(base + total / expected, like))
        if asked.quantile is None:
            return combined
        drawn = count_noise(given.secret, given.round, split_noise(asked.noise, expected).counted)
        after = next_clip(now.clip, short, len(given.replies), expected, drawn, asked.quantile)
        return combined._replace(reported={CLIP: {FEDERATION: after}})

    return combine


def _of_round(asked: Guarantee, expected: float, state: Mapping[str, Any]) -> Guarantee:
    """Clip and noise of one round."""
    if asked.quantile is None:
        return asked
    noise = split_noise(asked.noise, expected).update
    return asked._replace(clip=float(state[NEXT]), noise=noise)


def clipped(update: Tensor, clip: float) -> Tensor:
    """An update [d] in double precision, its norm at most ``clip``; one that is not finite: 0."""
    if not bool(torch.isfinite(update).all()):
        return torch.zeros_like(update)
    return factor(update, clip) * update


def noise_of(secret: Secret, round: int, size: int, asked: Guarantee) -> Tensor:
    """The noise [size] of a round, double precision; the same whenever it is asked for."""
    return asked.noise * asked.clip * secret.normal(NOISE, round, size)


def _noised(
    method: Method, asked: Guarantee, summed: WeightedSum
) -> Callable[[Tree, Tree, ClientContext], tuple[Tree, Tree]]:
    """``client_update`` whose message is clipped and noised before it leaves."""

    def client_update(received: Tree, own: Tree, data: ClientContext) -> tuple[Tree, Tree]:
        own, message = method.client_update(received, own, data)
        if data.secret is None:
            raise FedkinError(
                "[privacy] needs a secret to draw noise from, and the client has none"
            )
        base = base_of(message, received, summed.differences)
        update = clipped(flattened(message) - base, asked.clip)
        update += noise_of(data.secret, data.key.round, len(base), asked)
        return own, unflattened(base + update, message)

    return client_update


def _checked(
    method: Method, setting: Setting, kinds: tuple[str, ...]
) -> Callable[[FederationInit, int], None]:
    def check(start: FederationInit, participants: int) -> None:
        method.check(start, participants)
        if method.setup_message is not None:
            raise FedkinError(
                f"[privacy]: clients of {method.name} introduce themselves before the first round, "
                "which no noise covers: try fedavg"
            )
        received, expected = first_exchange(method, setting, start)
        sent = [path for path, _ in named_leaves(expected)]
        known = dict(named_leaves({kind: received.get(kind, {}) for kind in kinds}))
        beyond = next((path for path in sent if path not in known), None)
        if beyond is not None or len(sent) != len(known):
            raise FedkinError(
                f"[privacy]: clients of {method.name} send {beyond or 'less'} beside the sum of "
                "updates, which no noise covers: try fedavg"
            )
        # of length 0 where each client keeps its own
        running = [path for path in sent if is_buffer(path.split("/")[-1]) and known[path].numel()]
        if running:
            raise FedkinError(
                f"[privacy] noises all that clients send, {running[0]} too, and a running variance "
                "with noise can be below 0: set model.buffers to 'local' or 'drop'"
            )

    return check


def _predicting(
    method: Method, setting: Setting, asked: Guarantee
) -> Callable[[FederationInit, int], None]:
    """The check of a method that sends no update: its clients send predictions alone."""

    def check(start: FederationInit, participants: int) -> None:
        method.check(start, participants)
        sent = sent_message(method, setting, start)
        if set(sent) != {PREDICTIONS}:
            declared_sum(method, "privacy", setting, "[privacy]")
        if asked.quantile is not None:
            raise FedkinError(
                f"[privacy] clip follows the norms of updates, and clients of {method.name} send "
                "predictions: give privacy.clip a number, such as 1.0"
            )
        if asked.shared:
            # without a sum of their own, noised predictions cannot go under masks either
            plainly = "" if isinstance(method.aggregation, WeightedSum) else " without masks"
            raise FedkinError(
                f"[privacy] where = 'distributed' sums noised updates, and {method.name} sends "
                "predictions, whose rows are brought back to the simplex: take where = 'client'"
                f"{plainly}"
            )

    return check
