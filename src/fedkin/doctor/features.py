"""Samples as short rows of numbers, for models that are fitted in closed form."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fedkin.core.rng import Key
from fedkin.data.population import Population
from fedkin.data.validation import TOKENS

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
CLIENTS, ROWS = 200, 50_000  # at most, that are looked at
WIDTH, UNITS = 48, 64  # principal components that are kept; ReLU units of the small network
LAST = 2  # symbols of a text that are seen
FAR = 6.0  # deviations at which a number ends


class Rows(NamedTuple):
    """The labelled rows that are not test: of client ``clients[owner]``.

    ``views``: {name: [n, d]} with a last column of ones: "linear", and "network" with random ReLU
    units beside it. ``y``: classes or numbers [n]; ``target``: one-hot classes [n, C], or
    standardised numbers [n, 1].
    """

    clients: tuple[int, ...]
    owner: Ints
    views: dict[str, Floats]
    y: NDArray[np.float64] | Ints
    target: Floats
    offset: float = 0.0
    scale: float = 1.0


def rows_of(population: Population, seed: int) -> Rows:
    """Training and validation rows of at most CLIENTS clients, ROWS in all; test rows
    are not read.
    """
    rng = Key(seed).numpy("doctor rows")
    chosen = np.sort(rng.permutation(population.clients)[:CLIENTS])
    most = max(10, ROWS // len(chosen))
    parts = [np.concatenate([population.train[k], population.val[k]]) for k in chosen]
    parts = [np.sort(rng.permutation(part)[:most]) for part in parts]
    owner = np.repeat(np.arange(len(chosen)), [len(part) for part in parts])
    index = np.concatenate(parts)
    x, y = _numbers(population, index), population.y.numpy()[index]
    linear = _narrow(x)
    network = _with_units(linear, Key(seed).numpy("doctor units"))
    views = {"linear": _with_ones(linear), "network": _with_ones(network)}
    clients = tuple(int(k) for k in chosen)
    if population.classes:
        return Rows(clients, owner, views, y, np.eye(population.classes)[y])
    offset, scale = float(y.mean()), float(y.std()) or 1.0
    return Rows(
        clients, owner, views, y.astype(float), ((y - offset) / scale)[:, None], offset, scale
    )


def folds_of(rows: Rows, folds: int, rng: np.random.Generator) -> Ints:
    """The fold of each row: within each client even, and even in each class (or along
    the numbers).
    """
    found = np.empty(len(rows.owner), dtype=np.int64)
    for client in range(len(rows.clients)):
        own = np.flatnonzero(rows.owner == client)
        own = own[rng.permutation(len(own))]
        own = own[np.argsort(rows.y[own], kind="stable")]
        found[own] = (np.arange(len(own)) + rng.integers(folds)) % folds
    return found


def _numbers(population: Population, index: Ints) -> Floats:
    x = population.x[index]
    if x.dtype in TOKENS:
        last = x.flatten(1)[:, -LAST:].long().numpy()
        symbols = population.classes + 2  # beyond classes: the unknown symbol and padding
        hot: Sequence[Floats] = [np.eye(symbols)[last[:, k]] for k in range(last.shape[1])]
        return np.concatenate(hot, 1)
    found: Floats = x.flatten(1).double().numpy()
    return found


def _narrow(x: Any) -> Floats:
    """Standardised, and no wider than WIDTH: principal components where there are more numbers."""
    x = x - x.mean(0)
    spread = x.std(0)
    x = x[:, spread > 1e-9] / spread[spread > 1e-9]
    if x.shape[1] > WIDTH:
        _, vectors = np.linalg.eigh(x.T @ x)
        x = x @ vectors[:, ::-1][:, :WIDTH]
        x = x / x[:, :1].std()  # the first has deviation 1, the others keep their size beside it
    return np.asarray(np.clip(x, -FAR, FAR), dtype=np.float64)


def _with_units(x: Floats, rng: np.random.Generator) -> Floats:
    """Random ReLU units beside the numbers: a small network whose first layer is not trained."""
    if not x.shape[1]:
        return x
    units: Any = np.maximum(
        x @ rng.normal(size=(x.shape[1], UNITS)) / np.sqrt(x.shape[1]) + rng.normal(size=UNITS), 0
    )
    units = units - units.mean(0)
    return np.concatenate([x, units / np.maximum(units.std(0), 1e-9)], 1)


def _with_ones(x: Floats) -> Floats:
    return np.concatenate([x, np.ones((len(x), 1))], 1)
