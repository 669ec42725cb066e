"""Twenty data sets whose answer is known: in ten of them federating helps, in ten it must not."""

import itertools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from fedkin.data.population import Population

Floats = NDArray[np.float64]
TEST = 1000  # fresh rows a client, for the truth; the doctor reads none of them
Concept = Callable[[int, Floats, np.random.Generator], NDArray[Any]]


class Made(NamedTuple):
    """``helps``: whether federating does; ``measure``: the one that the data choose."""

    name: str
    helps: bool
    make: Callable[[int], Population]
    measure: str = "accuracy"


def _population(
    seed: int, sizes: list[int], features: int, concept: Concept, classes: int, moved: float = 0.0
) -> Population:
    """Clients with so many labelled rows, a quarter of them for validation, and TEST fresh ones."""
    rng = np.random.default_rng(seed)
    x, y, parts, start = [], [], [], 0
    for client, size in enumerate(sizes):
        centre = moved * rng.normal(size=features)
        own = rng.normal(size=(size + TEST, features)) + centre
        x.append(own)
        y.append(concept(client, own, rng))
        ends = [start, start + size - size // 4, start + size, start + size + TEST]
        parts.append([np.arange(a, b, dtype=np.int64) for a, b in itertools.pairwise(ends)])
        start = ends[-1]
    train, val, test = (tuple(rows) for rows in zip(*parts, strict=True))
    labels = torch.tensor(np.concatenate(y))
    return Population(
        name="made",
        x=torch.tensor(np.concatenate(x), dtype=torch.float32),
        y=labels.long() if classes else labels.float(),
        classes=classes,
        task="classification" if classes else "regression",
        train=train,
        val=val,
        test=test,
        names=tuple(f"c{k}" for k in range(len(sizes))),
    )


def _logistic(weights: Floats, shift: float = 0.0, steep: float = 2.0) -> Concept:
    """Two classes; ``weights`` [clients, features], rows of length 1."""
    unit = weights / np.linalg.norm(weights, axis=1, keepdims=True)

    def label(client: int, x: Floats, rng: np.random.Generator) -> NDArray[Any]:
        p = 1 / (1 + np.exp(-steep * (x @ unit[client]) - shift))
        return (rng.random(len(x)) < p).astype(np.int64)

    return label


def _several(weights: Floats, offsets: Floats) -> Concept:
    """Several classes; ``weights`` [clients, features, classes], ``offsets`` [clients, classes]."""

    def label(client: int, x: Floats, rng: np.random.Generator) -> NDArray[Any]:
        scores = x @ weights[client] + offsets[client] + rng.gumbel(size=(len(x), weights.shape[2]))
        return scores.argmax(1)

    return label


def _rings(flipped: NDArray[np.int64], at: Floats) -> Concept:
    """Class 1 lies within a circle about a client's own place ``at`` [clients, 2]; some clients
    have it flipped.
    """

    def label(client: int, x: Floats, rng: np.random.Generator) -> NDArray[Any]:
        inside = ((x[:, :2] - at[client]) ** 2).sum(1) < 1.4
        noise = rng.random(len(x)) < 0.05
        return (inside ^ noise ^ bool(flipped[client])).astype(np.int64)

    return label


def _numbers(weights: Floats, noise: float) -> Concept:
    def label(client: int, x: Floats, rng: np.random.Generator) -> NDArray[Any]:
        return x @ weights[client] + noise * rng.normal(size=len(x))

    return label


def _one(seed: int, clients: int, features: int, apart: float = 0.0, groups: int = 1) -> Floats:
    """Concepts [clients, features] of so many groups, each client ``apart`` from its group's."""
    rng = np.random.default_rng(1000 + seed)
    centres = rng.normal(size=(groups, features))
    if groups == 2:
        centres[1] = -centres[0]
    own = centres[np.arange(clients) % groups]
    return own + apart * rng.normal(size=(clients, features))


def _own(seed: int, clients: int, features: int) -> Floats:
    """Every client has a concept of its own, as far from the others as can be."""
    return np.random.default_rng(2000 + seed).normal(size=(clients, features))


def _uneven(seed: int, clients: int) -> list[int]:
    return [int(n) for n in np.random.default_rng(3000 + seed).integers(12, 150, clients)]


def _skewed(seed: int) -> Population:
    rng = np.random.default_rng(4000 + seed)
    weights = np.repeat(0.9 * rng.normal(size=(1, 15, 4)), 20, 0)
    return _population(seed, [60] * 20, 15, _several(weights, 2.0 * rng.normal(size=(20, 4))), 4)


def _renamed(seed: int) -> Population:
    """One concept, whose three classes every client numbers in its own order: six orders, one for a
    client.
    """

    rng = np.random.default_rng(5000 + seed)
    base = 2.5 * rng.normal(size=(4, 3))
    weights = np.stack([base[:, list(order)] for order in itertools.permutations(range(3))])
    return _population(seed, [250] * 6, 4, _several(weights, np.zeros((6, 3))), 3)


def _coin(client: int, x: Floats, rng: np.random.Generator) -> NDArray[Any]:
    return rng.integers(0, 2, len(x))


def _plain(client: int, x: Floats, rng: np.random.Generator) -> NDArray[Any]:
    return (x[:, 0] > 0).astype(np.int64)


def _wide(population: Population) -> Population:
    """Rows near the border left out: any model is right."""
    far = np.abs(population.x[:, 0].numpy()) > 0.7
    keep = {
        part: tuple(rows[far[rows]] for rows in getattr(population, part))
        for part in ("train", "val", "test")
    }
    return Population(**{**population.__dict__, **keep})


def _still(clients: int) -> Floats:
    return np.zeros((clients, 2))


def _apart(seed: int, clients: int) -> Floats:
    return 1.2 * np.random.default_rng(6000 + seed).normal(size=(clients, 2))


SETS = (
    Made(
        "one concept, 40 rows",
        True,
        lambda s: _population(s, [40] * 20, 10, _logistic(_one(s, 20, 10)), 2),
    ),
    Made(
        "one concept, 12 to 150 rows",
        True,
        lambda s: _population(s, _uneven(s, 24), 10, _logistic(_one(s, 24, 10)), 2),
    ),
    Made(
        "one concept, 7 % positive",
        True,
        lambda s: _population(s, [80] * 28, 8, _logistic(_one(s, 28, 8), -3.6), 2),
        "auc",
    ),
    Made(
        "two opposite groups",
        True,
        lambda s: _population(s, [50] * 20, 10, _logistic(_one(s, 20, 10, groups=2)), 2),
    ),
    Made(
        "like concepts",
        True,
        lambda s: _population(s, [50] * 20, 12, _logistic(_one(s, 20, 12, apart=0.4)), 2),
    ),
    Made("one concept, unlike labels", True, _skewed),
    Made(
        "numbers, one concept",
        True,
        lambda s: _population(s, [30] * 16, 12, _numbers(_one(s, 16, 12), 3.0), 0),
        "rmse",
    ),
    Made(
        "numbers, four groups",
        True,
        lambda s: _population(s, [30] * 24, 10, _numbers(_one(s, 24, 10, groups=4), 2.0), 0),
        "rmse",
    ),
    Made(
        "one concept, moved features",
        True,
        lambda s: _population(s, [40] * 20, 8, _logistic(_one(s, 20, 8)), 2, 1.0),
    ),
    Made(
        "one circle",
        True,
        lambda s: _population(s, [60] * 20, 4, _rings(np.zeros(20, int), _still(20)), 2),
    ),
    Made(
        "own concepts",
        False,
        lambda s: _population(s, [200] * 12, 6, _logistic(_own(s, 12, 6), steep=4.0), 2),
    ),
    Made("labels by chance", False, lambda s: _population(s, [80] * 20, 8, _coin, 2)),
    Made(
        "one concept, 1,500 rows",
        False,
        lambda s: _population(s, [1500] * 8, 4, _logistic(_one(s, 8, 4)), 2),
    ),
    Made(
        "own concepts, many features",
        False,
        lambda s: _population(s, [600] * 8, 12, _logistic(_own(s, 8, 12), steep=4.0), 2),
    ),
    Made("classes renamed by each client", False, _renamed),
    Made(
        "numbers, own concepts",
        False,
        lambda s: _population(s, [100] * 14, 6, _numbers(_own(s, 14, 6), 1.0), 0),
        "rmse",
    ),
    Made(
        "numbers by chance",
        False,
        lambda s: _population(s, [60] * 20, 6, _numbers(np.zeros((20, 6)), 1.0), 0),
        "rmse",
    ),
    Made(
        "own concepts, 9 % positive",
        False,
        lambda s: _population(s, [700] * 10, 5, _logistic(_own(s, 10, 5), -4.5, 4.0), 2),
        "auc",
    ),
    Made("always right alone", False, lambda s: _wide(_population(s, [150] * 12, 3, _plain, 2))),
    Made(
        "own circles",
        False,
        lambda s: _population(s, [500] * 8, 2, _rings(np.arange(8) % 2, _apart(s, 8)), 2),
    ),
)
