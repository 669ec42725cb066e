"""Rules in the place of the mean, for messages of which some are wrong or hostile.

A rule sees each client's message as a vector [d] and counts clients alike. It says of each client
what share of its message was used: "kept" is 1 for all of it and 0 for a client that was cut.
"""

from collections.abc import Callable

import torch
from torch import Tensor

from fedkin.core.aggregation import Combined, Contributions, Reply, Rule, Step
from fedkin.transforms.updates import base_in, flattened, unflattened

KEPT = "kept"
TINY = 1e-12
Vectors = Callable[[Tensor], tuple[Tensor, Tensor]]  # [n, d] → the vector [d], and "kept" [n]


def by_vectors(rule: Vectors) -> Rule:
    """A rule on vectors as one on contributions."""

    def combine(given: Contributions) -> Combined:
        clients = list(given.replies)
        like = given.replies[clients[0]].message
        stacked = torch.stack([flattened(given.replies[one].message) for one in clients])
        if stacked.shape[1] == 0:
            return Combined(like)
        found, kept = rule(stacked)
        share_kept = dict(zip(clients, kept.tolist(), strict=True))
        return Combined(unflattened(found, like), {KEPT: share_kept})

    return combine


def median(vectors: Tensor) -> tuple[Tensor, Tensor]:
    """The median of each coordinate; of an even number of clients the mean of the middle two.

    Source: Yin, Chen, Ramchandran & Bartlett (2018), definition 1.
    """
    n = len(vectors)
    ordered, order = vectors.sort(dim=0, stable=True)
    middle = slice((n - 1) // 2, n // 2 + 1)
    return ordered[middle].mean(0), _share(order[middle], n)


def trimmed_mean(vectors: Tensor, cut: int) -> tuple[Tensor, Tensor]:
    """The mean of each coordinate without its ``cut`` least and ``cut`` largest values.

    Source: Yin, Chen, Ramchandran & Bartlett (2018), definition 2.
    """
    n = len(vectors)
    ordered, order = vectors.sort(dim=0, stable=True)
    middle = slice(cut, n - cut)
    return ordered[middle].mean(0), _share(order[middle], n)


def _share(order: Tensor, n: int) -> Tensor:
    """Of each client [n]: the share of coordinates in which it is among those chosen [k, d]."""
    return torch.bincount(order.reshape(-1), minlength=n).to(torch.float64) / order.shape[1]


def geometric_median(vectors: Tensor, iterations: int) -> tuple[Tensor, Tensor]:
    """The point with the least sum of distances to the clients' vectors, by Weiszfeld's steps from
    the coordinate-wise median.

    From the mean, attackers just below half of the clients would hold the point for thousands of
    steps, and one far away would set what counts as near. A point that coincides with a vector gets
    Vardi and Zhang's (2000) step, so that it stays only where it is the median. "kept" is a
    client's weight beside the largest one.
    """
    point, _ = median(vectors)
    tiny = TINY * float((vectors - point).norm(dim=1).median().clamp_min(TINY))
    for _ in range(iterations):
        distance = (vectors - point).norm(dim=1)
        near = distance <= tiny
        weights = torch.where(near, 0.0, 1 / distance.clamp_min(tiny))
        if near.all():
            break
        target = weights @ vectors / weights.sum()
        pull = float((weights @ (vectors - point)).norm()) if len(vectors) else 0.0
        stay = min(1.0, float(near.sum()) / pull) if pull > 0 else 1.0
        moved = stay * point + (1 - stay) * target if near.any() else target
        still = float((moved - point).norm()) <= tiny
        point = moved
        if still:
            break
    distance = (vectors - point).norm(dim=1).clamp_min(tiny)
    return point, distance.min() / distance


def krum(vectors: Tensor, attackers: int, chosen: int) -> tuple[Tensor, Tensor]:
    """The mean of the ``chosen`` vectors whose n − f − 2 nearest others are nearest to them.

    Args:
        vectors: [n, d].
        attackers: f, how many may be hostile.
        chosen: m; 1 is Krum, more are multi-Krum.

    Source: Blanchard, El Mhamdi, Guerraoui & Stainer (2017), section 3 and equation 4.
    """
    n = len(vectors)
    squared = torch.cdist(vectors, vectors, compute_mode="donot_use_mm_for_euclid_dist").square()
    nearest = squared.sort(dim=1).values[:, 1 : n - attackers - 1]  # without itself
    order = nearest.sum(1).sort(stable=True).indices[:chosen]
    kept = torch.zeros(n, dtype=vectors.dtype)
    kept[order] = 1.0
    return vectors[order.sort().values].mean(0), kept


def norm_bound(bound: float) -> Step:
    """Every update (what a client sent less what it was sent) shortened to at most ``bound``.

    Source: Sun, Kairouz, Suresh & McMahan (2019). "kept" is the factor.
    """

    def step(given: Contributions) -> Contributions:
        factors: dict[int, float] = {}
        shortened: dict[int, Reply] = {}
        for client, reply in given.replies.items():
            base = base_in(given, client)
            update = flattened(reply.message) - base
            factors[client] = factor(update, bound)
            message = unflattened(base + factors[client] * update, reply.message)
            shortened[client] = reply._replace(message=message) if factors[client] < 1 else reply
        return given._replace(replies=shortened, reported={**given.reported, "norm_kept": factors})

    return step


def factor(update: Tensor, bound: float) -> float:
    """What an update [d] is multiplied by to have at most this Euclidean norm."""
    norm = float(update.norm())
    return 1.0 if norm <= bound else bound / norm
