"""Least-squares models of all clients at once, in closed form from their products XᵀX and XᵀY.

Five ways to share, each the least-squares form of methods that fedkin has:

- alone: each client by itself (``local``)
- shared: one model (``fedavg``)
- offset: one model, each client with its own constant (``fedper``)
- anchored: own models that stay near the shared one (``finetune``, ``ditto``, ``apfl``)
- grouped: own models that stay near that of their group, which is found (``ifca``, ``cgpfl``,
  ``hypcluster``)
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
PULLS = (0.3, 3.0, 30.0, 300.0, 3000.0)  # how many rows the model weighs that own ones stay near
GROUPS = (2, 3, 4)
STARTS, STEPS = 3, 10  # of the search for groups
WAYS = ("alone", "shared", "offset", "anchored", "grouped")
FEDERATED = WAYS[1:]


class Products(NamedTuple):
    """Of each client: ``xx`` [clients, d, d], ``xy`` [clients, d, outputs], ``n`` rows."""

    xx: Floats
    xy: Floats
    n: Floats


class Fitted(NamedTuple):
    """One setting of one way: the models [clients, d, outputs]."""

    way: str
    setting: str
    models: Floats


def products(x: Floats, target: Floats, owner: NDArray[np.int64], clients: int) -> Products:
    """Sums over the rows of each client.

    Args:
        x: Features [n, d] of all clients' rows; the last column is 1.
        target: Targets [n, outputs].
        owner: The client of each row [n].
        clients: How many there are.

    Returns:
        XᵀX, XᵀY and the number of rows, a client each.
    """
    xx = np.zeros((clients, x.shape[1], x.shape[1]))
    xy = np.zeros((clients, x.shape[1], target.shape[1]))
    for k in range(clients):
        own, y = x[owner == k], target[owner == k]
        xx[k], xy[k] = own.T @ own, own.T @ y
    return Products(xx, xy, np.bincount(owner, minlength=clients).astype(float))


def fits(p: Products, seed: int) -> Iterator[Fitted]:
    """Every way in every setting.

    Args:
        p: Products of all clients' rows.
        seed: Draws where the search for groups begins.

    Yields:
        Models [clients, d, outputs], with the way and the setting in words.
    """
    values, vectors = np.linalg.eigh(p.xx)
    near = _Near(p, values, vectors)
    clients = len(p.n)
    constant = np.zeros_like(p.xy)
    # the last column of x is 1: the mean of the targets
    constant[:, -1] = p.xy[:, -1] / np.maximum(p.n, 1)[:, None]
    shared = pooled(p, np.ones(clients))
    for pull in PULLS:
        yield Fitted("alone", f"{pull:g}", near(constant, pull))
    everyone = np.broadcast_to(shared, p.xy.shape)
    yield Fitted("shared", "", everyone)
    missed = (p.xy[:, -1] - (p.xx[:, -1:] @ everyone)[:, 0]) / (p.n + 3.0)[:, None]
    own = everyone.copy()
    own[:, -1] += missed
    yield Fitted("offset", "", own)
    for pull in PULLS:
        yield Fitted("anchored", f"{pull:g}", near(everyone, pull))
    start = near(everyone, PULLS[2])
    for groups in GROUPS:
        if 2 * groups <= clients:
            centres = grouped(p, start, groups, np.random.default_rng(seed + groups))
            yield Fitted("grouped", f"{groups} groups", centres)
            for pull in PULLS[1:4]:
                yield Fitted("grouped", f"{groups} groups, {pull:g}", near(centres, pull))


class _Near:
    """Models [clients, d, outputs] with the least squared error plus ``pull`` times the distance
    from ``where``.
    """

    def __init__(self, p: Products, values: Floats, vectors: Floats) -> None:
        self.p, self.values, self.vectors = p, np.maximum(values, 0), vectors
        self.turned = vectors.transpose(0, 2, 1)

    def __call__(self, where: Floats, pull: float) -> Floats:
        right = self.turned @ (self.p.xy + pull * where)
        models: Floats = self.vectors @ (right / (self.values + pull)[:, :, None])
        return models


def pooled(p: Products, weight: Floats) -> Floats:
    """The one model [d, outputs] of the clients with these weights.

    Args:
        p: Products of all clients' rows.
        weight: Of each client [clients], at least 0.

    Returns:
        [d, outputs], with a ridge penalty of 1.
    """
    xx, xy = np.tensordot(weight, p.xx, 1), np.tensordot(weight, p.xy, 1)
    return np.asarray(np.linalg.solve(xx + np.eye(len(xx)), xy), dtype=np.float64)


def grouped(p: Products, start: Floats, groups: int, rng: np.random.Generator) -> Floats:
    """Each client's model is that of its group, and it is in the group whose model errs least on
    its rows.

    Args:
        p: Products of all clients' rows.
        start: Models of the clients to begin with [clients, d, outputs].
        groups: How many groups there are.
        rng: Draws where each of STARTS searches begins.

    Returns:
        The group's model of each client [clients, d, outputs].
    """
    best, least = start, np.inf
    for _ in range(STARTS):
        centres = _spread(p, start, groups, rng)
        member = _errors(p, centres).argmin(0)
        for _ in range(STEPS):
            for g in range(groups):
                if (member == g).any():
                    centres[g] = pooled(p, (member == g).astype(float))
            again = _errors(p, centres).argmin(0)
            if (again == member).all():
                break
            member = again
        error = float(_errors(p, centres).min(0).sum())
        if error < least:
            best, least = centres[member], error
    return best


def _spread(p: Products, start: Floats, groups: int, rng: np.random.Generator) -> Floats:
    """Models of clients that err on each other's rows: the first is drawn, each next one is of who
    is served worst.
    """
    chosen = [int(rng.integers(len(start)))]
    own = np.stack([_error(p.xx[k], p.xy[k], start[k]) for k in range(len(start))])
    while len(chosen) < groups:
        missed = (_errors(p, start[chosen]).min(0) - own) / np.maximum(p.n, 1)
        missed[chosen] = -np.inf
        chosen.append(int(missed.argmax()))
    models: Floats = start[chosen].copy()
    return models


def _errors(p: Products, centres: Floats) -> Floats:
    """[groups, clients]: squared errors but for the targets' own squares."""
    return np.stack([_error(p.xx, p.xy, centre) for centre in centres])


def _error(xx: Floats, xy: Floats, model: Floats) -> Floats:
    """wᵀ(XᵀX)w − 2 wᵀXᵀY, of one client or of all."""
    errors: Floats = (model * (xx @ model - 2 * xy)).sum((-2, -1))
    return errors
