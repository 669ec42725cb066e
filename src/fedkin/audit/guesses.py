"""From scores to guesses: how well they tell members from others, and what that proves of ε."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.stats import rankdata

from fedkin.audit.bounds import lower_epsilon
from fedkin.data.arrays import Array

LOW_RATE = 0.01  # of false alarms, at which attacks are compared
SHARES = (0.1, 0.3, 1.0)  # of canaries that are guessed; each has its part of the doubt


class Separation(NamedTuple):
    """How well scores tell members from others.

    auc: the chance that a member's is the higher one, 0.5 where the attack learns nothing. hits:
    members found where one of a hundred others is taken for one.
    """

    auc: float
    hits: float
    members: int
    others: int


class Proved(NamedTuple):
    """A lower bound on ε, and the guesses that prove it."""

    epsilon: float
    right: int
    guesses: int


def separation(members: Array, others: Array) -> Separation:
    """How well scores [n] of members and [k] of others, higher for members, tell them apart.

    Args:
        members: Scores of what was in the training data, at least one.
        others: Scores of what was not, at least one.

    Returns:
        The area under the curve, and hits at a rate of LOW_RATE false alarms.
    """
    ranks = rankdata(np.concatenate([members, others]))
    n, k = len(members), len(others)
    auc = (ranks[:n].sum() - n * (n + 1) / 2) / (n * k)
    alarms = int(LOW_RATE * k)  # so many others may lie above the threshold
    threshold = np.sort(others)[k - 1 - alarms]
    return Separation(float(auc), float((members > threshold).mean()), n, k)


def separation_in_clients(each: Sequence[tuple[Array, Array]]) -> Separation:
    """How well scores tell members from others of the same client. Clients may have other losses,
    and other shares of members: a pair of two clients' samples would tell the clients apart.

    Args:
        each: ``separation``'s members and others of each client, one client at least.

    Returns:
        The area under the curve over all pairs of one client; hits by one threshold for all.
    """
    members, others = (np.concatenate(side) for side in zip(*each, strict=True))
    pairs = [len(own) * len(rest) for own, rest in each]
    auc = np.average([separation(*one).auc for one in each], weights=pairs)
    return separation(members, others)._replace(auc=float(auc))


def confidence_of_each(confidence: float) -> float:
    """What each of SHARES has to itself where the best of them is shown (Bonferroni).

    Args:
        confidence: Of what is shown, in (0, 1).

    Returns:
        A higher one: each has its part of the doubt.
    """
    return 1 - (1 - confidence) / len(SHARES)


def proved(
    scores: Array,
    inside: Array,
    delta: float = 0.0,
    confidence: float = 0.95,
) -> Proved:
    """The best lower bound on ε from canaries: half of the guesses "in" where scores are highest,
    half "out" where they are lowest.

    Args:
        scores: Of the canaries [m], at least two of them finite, higher where one was trained on.
            One that is not finite is passed over, and yet one of the m: that it has no score may
            tell something of it, too.
        inside: Whether it was [m].
        delta: δ of the guarantee that is tested.
        confidence: Of the bound, whichever number of guesses gives it.

    Returns:
        The bound, with the guesses of the number that gave it.
    """
    m = len(scores)
    known = np.flatnonzero(np.isfinite(scores))
    order, n = known[np.argsort(-scores[known], kind="stable")], len(known)
    each = confidence_of_each(confidence)
    bounds = []
    for share in SHARES:
        half = max(1, int(share * n) // 2)
        right = int(inside[order[:half]].sum() + (~inside[order[n - half :]]).sum())
        bounds.append(Proved(lower_epsilon(m, 2 * half, right, delta, each), right, 2 * half))
    return max(bounds, key=lambda one: one.epsilon)
