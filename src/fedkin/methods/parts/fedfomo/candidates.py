"""Whose models FedFomo's server sends to whom: by affinity, the sum of what a client gained by
another one's models.

A state is a tree with ``trained`` [clients] bool, ``affinity`` and ``weights`` (as ``no_pairs``
begins them) and ``candidates``, whose models each client was sent. What else stands in it stays as
it is.
"""

from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor

from fedkin.core.rng import Key
from fedkin.core.tree import Tree
from fedkin.methods.parts.fedfomo.pairs import added, dense_row, replaced


def with_gains(state: Tree, gains: Mapping[int, Tensor]) -> Tree:
    """The state once clients have told what they gained.

    Args:
        state: The server's, which is not changed.
        gains: Client → by each of the models that it was sent and, last, by its own.

    Returns:
        The state with these gains among the affinities, and the weights that they were used as.
    """
    by_others, w = {}, {}
    for client, gain in gains.items():
        sent, positive = state["candidates"][client], gain.clamp_min(0)
        by_others[client] = sent, gain[:-1]
        w[client] = (
            torch.cat([sent, torch.tensor([client])]),
            positive / positive.sum().clamp_min(torch.finfo(gain.dtype).tiny),
        )
    return {
        **state,
        "affinity": added(state["affinity"], by_others),
        "weights": replaced(state["weights"], w),
    }


def candidates_of(state: Tree, client: int, count: int, epsilon: float, key: Key) -> Tensor:
    """The clients whose models a client is sent next, of those that have trained.

    Args:
        state: The server's.
        client: Its number.
        count: n, at most so many.
        epsilon: ε of ``pick``.
        key: Of the round: each client draws for itself.

    Returns:
        [n] int64.
    """
    affinity = dense_row(state["affinity"], client, len(state["trained"]))
    pool = state["trained"].nonzero()[:, 0].numpy()
    rng = key._replace(client=client).numpy("pick")
    return torch.from_numpy(pick(affinity, pool[pool != client], count, epsilon, rng))


def pick(
    affinity: np.ndarray, pool: np.ndarray, count: int, epsilon: float, rng: np.random.Generator
) -> np.ndarray:
    """``count`` of the pool (all, if it has fewer): of the highest affinity, but each place with
    chance ε at random. Equal affinities are in random order.

    Args:
        affinity: Of everybody [clients].
        pool: Numbers of clients.
        count: How many are picked.
        epsilon: ε in [0, 1].
        rng: What draws.

    Returns:
        Numbers of the pool.
    """
    count = min(count, len(pool))
    shuffled = rng.permutation(pool)
    ranked = shuffled[np.argsort(-affinity[shuffled], kind="stable")]
    best = count - rng.binomial(count, epsilon)
    return np.concatenate([ranked[:best], rng.permutation(ranked[best:])[: count - best]])


def most_helpful(state: Tree, count: int) -> Tensor:
    """The clients by whose models the others gained most: a newcomer's first candidates.

    Args:
        state: The server's.
        count: n, at most so many.

    Returns:
        [n] int64, of equals the first.
    """
    affinity, clients = state["affinity"], len(state["trained"])
    helped = torch.zeros(clients, dtype=affinity["value"].dtype)
    helped = helped.index_add(0, affinity["to"], affinity["value"].clamp_min(0))
    pool: Tensor = state["trained"].nonzero()[:, 0]
    return pool[torch.argsort(-helped[pool], stable=True)[:count]]
