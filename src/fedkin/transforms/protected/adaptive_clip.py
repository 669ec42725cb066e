"""A clip that follows a quantile of the norms of clients' updates.

Source: Andrew, Thakkar, McMahan & Ramaswamy: Differentially private learning with adaptive
clipping, 2021, Algorithm 1.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor

from fedkin.core.aggregation import Mean
from fedkin.core.method import Method, ServerContext
from fedkin.core.rng import Secret
from fedkin.core.tree import Tree
from fedkin.transforms.extra_state import with_server_state

CLIP = "clip"  # the name in the server's state, in a rule's report and in the record
NEXT = "next_clip"
NOISE = "noise of short updates"
FEDERATION = -1  # of whom the report says it


class ClipQuantile(NamedTuple):
    """quantile: γ, the share of updates that shall not be longer than the clip. start: C of the
    first round, a norm. lr: η_C, how fast the clip follows.
    """

    quantile: float
    start: float
    lr: float


class SplitNoise(NamedTuple):
    """update: z_Δ, in clips. counted: σ_b, in clients."""

    update: float
    counted: float


def split_noise(noise: float, expected: float) -> SplitNoise:
    """Noise on updates and on the count of short ones that together cost what ``noise`` costs:
    1 / z² = 1 / z_Δ² + 1 / (2 σ_b)² (Theorem 1).

    σ_b is a twentieth of the participants, as in the paper. With fewer than 20 z of them that would
    take more than a quarter of what is spent, and σ_b is z.

    Args:
        noise: z, in clips.
        expected: Participants of a round, on average.
    """
    counted = max(expected / 20, noise)
    return SplitNoise((noise**-2 - (2 * counted) ** -2) ** -0.5, counted)


def is_short(update: Tensor, clip: float) -> bool:
    """b_i: whether an update [d] is not longer than the clip; one that is not finite is longer."""
    return float(update.norm()) <= clip


def next_clip(
    clip: float,
    short: int,
    participants: int,
    expected: float,
    noise: float,
    asked: ClipQuantile,
) -> float:
    """C e^{−η_C (b̃ − γ)}, where b̃ = 1/2 + (Σ_i (b_i − 1/2) + noise) / expected.

    Args:
        clip: C of this round.
        short: Σ b_i.
        participants: How many b_i there are.
        expected: Participants of a round, on average.
        noise: Drawn for this round, in clients.
        asked: γ and η_C.

    Returns:
        C of the next round; above 0 and finite.
    """
    share = 0.5 + (short - participants / 2 + noise) / expected
    moved = math.log(clip) - asked.lr * (share - asked.quantile)
    return math.exp(min(max(moved, -700.0), 700.0))  # beyond them no double is a norm


def count_noise(secret: Secret, round: int, height: float) -> float:
    """The noise on the count of a round; the same whenever it is asked for."""
    return height * float(secret.normal(NOISE, round, 1))


def first_clip(asked: ClipQuantile) -> Tree:
    """What the server keeps before the first round."""
    start = torch.tensor(asked.start, dtype=torch.float64)
    return {CLIP: start, NEXT: start}


def following(
    method: Method, asked: ClipQuantile, update: Callable[[Tree, Mean, ServerContext], Tree]
) -> Method:
    """The method whose server keeps the clip that its rule reports for the next round.

    Args:
        method: Its rule reads ``NEXT`` of the server's state, and reports ``CLIP``.
        asked: Where the clip starts.
        update: ``server_update`` of the method's own state.

    Returns:
        With "clip" in ``server_metrics``: the norm to which the round's updates were cut.
    """

    def server_update(state: Tree, sent: Mean, server: ServerContext) -> Tree:
        after = torch.tensor(sent.reported[CLIP][FEDERATION], dtype=torch.float64)
        rest = {name: of for name, of in sent.reported.items() if name != CLIP}
        moved = update(state["method"], sent._replace(reported=rest), server)
        return {"method": moved, CLIP: state[NEXT], NEXT: after}

    def server_metrics(state: Tree) -> dict[str, dict[int, Any]]:
        told = method.server_metrics(state["method"])
        return {**told, CLIP: {FEDERATION: float(state[CLIP])}}

    kept = with_server_state(method, first_clip(asked), server_update)
    return kept._replace(server_metrics=server_metrics)
