"""Samples as short rows of numbers, for models that are fitted in closed form."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fedkin.core.errors import many
from fedkin.core.rng import Key
from fedkin.data.population import Population
from fedkin.data.validation import TOKENS
from fedkin.doctor import patches
from fedkin.experiment.plain_baselines import FLAT

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
CLIENTS, ROWS = 200, 50_000  # at most, that are looked at
WIDTH, UNITS = 48, 64  # principal components that are kept; ReLU units of the small network
WIDE = 128  # principal components of what pictures have of patches
LAST = 2  # symbols of a text that are seen
FAR = 6.0  # deviations at which a number ends
# at most, for the minutes and the memory that the comparison takes: rows and clients × classes
SCORES, MODELS = 10_000_000, 30_000


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
    group: Ints | None = None  # rows that belong together, as a recording's do


def rows_of(population: Population, seed: int) -> Rows:
    """Training and validation rows of at most CLIENTS clients, ROWS in all; test rows
    are not read.

    Args:
        population: The clients' data.
        seed: Draws clients, rows and the network's random units.

    Returns:
        The rows as short features, with their targets.
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
    if patches.is_picture(population.x):
        pictures = patches.seen(population.x[index], Key(seed).numpy("doctor patches"))
        views["patches"] = _with_ones(_narrow(pictures, WIDE))
    clients, groups = tuple(int(k) for k in chosen), groups_of(population)
    group = None if groups is None else groups[index]
    if population.classes:
        return Rows(clients, owner, views, y, np.eye(population.classes)[y], group=group)
    offset, scale = float(y.mean()), float(y.std()) or 1.0
    target = ((y - offset) / scale)[:, None]
    return Rows(clients, owner, views, y.astype(float), target, offset, scale, group)


def too_many_classes(population: Population) -> str:
    """Why the doctor compares nothing for so many classes.

    Args:
        population: The clients' data.

    Returns:
        A sentence; "" where it compares.
    """
    rows = min(ROWS, sum(map(len, (*population.train, *population.val))))
    clients, classes = min(CLIENTS, population.clients), population.classes
    if rows * classes <= SCORES and clients * classes <= MODELS:
        return ""
    amounts = (
        "" if population.encoding is None else ": set data.task=regression if labels are amounts"
    )
    return (
        f"there is no verdict for {many(classes, 'class', 'classes')}, "
        f"{many(rows, 'row')} and {many(clients, 'client')}, since it would take too long"
        f"{amounts}"
    )


def groups_of(population: Population) -> Ints | None:
    """[n] which rows stay in one split of a client (a recording, a patient): what is known of each
    row and is never in two splits. None where nothing is.

    Args:
        population: The clients' data.

    Returns:
        int64 [n], a number for each row of x; equal ones belong together.
    """
    n = len(population.x)
    for values in population.truth.values():
        if np.ndim(values) != 1 or len(values) != n:
            continue
        _, number = np.unique(values, return_inverse=True)
        if number.max() + 1 < n and _together(population, number):
            return np.asarray(number, dtype=np.int64)
    return None


def _together(population: Population, number: Ints) -> bool:
    for client in range(population.clients):
        splits = (population.train, population.val, population.test)
        parts = [np.unique(number[rows[client]]) for rows in splits]
        if len(np.unique(np.concatenate(parts))) < sum(map(len, parts)):
            return False
    return True


def folds_of(rows: Rows, folds: int, rng: np.random.Generator) -> Ints:
    """The fold of each row: within each client even, and even in each class (or along
    the numbers). Rows that belong together are in one fold.

    Args:
        rows: The rows of all clients.
        folds: How many there are.
        rng: Draws the folds.

    Returns:
        int64 [n], from 0 to folds − 1.
    """
    fold_of = np.empty(len(rows.owner), dtype=np.int64)
    for client in range(len(rows.clients)):
        own = np.flatnonzero(rows.owner == client)
        number = np.arange(len(own)) if rows.group is None else rows.group[own]
        _, first, number = np.unique(number, return_index=True, return_inverse=True)
        order = rng.permutation(len(first))
        order = order[np.argsort(rows.y[own[first[order]]], kind="stable")]
        fold = np.empty(len(first), dtype=np.int64)
        fold[order] = (np.arange(len(first)) + rng.integers(folds)) % folds
        fold_of[own] = fold[number]
    return fold_of


def _numbers(population: Population, index: Ints) -> Floats:
    x = population.x[index]
    if x.dtype in TOKENS:
        last = x.flatten(1)[:, -LAST:].long().numpy()
        symbols = population.classes + 2  # beyond classes: the unknown symbol and padding
        hot: Sequence[Floats] = [np.eye(symbols)[last[:, k]] for k in range(last.shape[1])]
        return np.concatenate(hot, 1)
    numbers: Floats = x.flatten(1).double().numpy()
    return numbers


def _narrow(x: Any, width: int = WIDTH) -> Floats:
    """Standardised, and no wider than ``width``: principal components where there are more."""
    largest = np.abs(x).max(0)
    x = x - x.mean(0)
    spread = x.std(0)
    used = spread > FLAT * largest
    x = x[:, used] / spread[used]
    if x.shape[1] > width:
        _, vectors = np.linalg.eigh(x.T @ x)
        x = x @ vectors[:, ::-1][:, :width]
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
