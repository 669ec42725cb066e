"""How unlike the clients' data are, in labels and in features, against what chance alone would make
of it.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedkin.core.rng import Key
from fedkin.data.population import Population
from fedkin.data.validation import TOKENS

Floats = NDArray[np.float64]
ROWS, FEATURES = 20_000, 512  # of training samples, and of numbers of one, that are looked at
SMALLEST = 5


def data_of(population: Population, seed: int) -> dict[str, Any]:
    """{labels, features, sizes}: plain values; labels and features are None where there is nothing
    to say.

    Args:
        population: The clients' data.
        seed: Draws what chance is compared with.

    Returns:
        "clients" (a number), "labels", "features", "samples" (least, median, most training samples
        of a client) and "smallest" (the clients with the fewest).
    """
    sizes = [len(rows) for rows in population.train]
    order = sorted(range(len(sizes)), key=lambda k: (sizes[k], k))
    names = population.names or tuple(map(str, range(len(sizes))))
    return {
        "clients": len(sizes),
        "labels": labels(population, seed),
        "features": features(population, seed),
        "samples": {"least": min(sizes), "median": float(np.median(sizes)), "most": max(sizes)},
        "smallest": [
            {"client": names[k], "train": sizes[k], "val": len(population.val[k])}
            for k in order[:SMALLEST]
        ],
    }


def labels(population: Population, seed: int) -> dict[str, float] | None:
    """``distance``: total variation between a client's label distribution and that of all, mean
    over clients, in [0, 1]; ``chance``: the same if each client had drawn its samples from all;
    ``classes``: the median number that a client has. None for a regression.

    Args:
        population: The clients' data.
        seed: Draws what chance would make of the labels.

    Returns:
        {"distance", "chance": in 0..1; "classes": a number}.
    """
    if not population.classes:
        return None
    y = population.y.numpy()
    counts = np.array(
        [np.bincount(y[rows], minlength=population.classes) for rows in population.train],
        dtype=float,
    )
    pool = counts.sum(0) / counts.sum()
    rng = Key(seed).numpy("doctor labels")
    drawn = np.array([rng.multinomial(int(n), pool) for n in counts.sum(1)], dtype=float)
    return {
        "distance": _apart(counts, pool),
        "chance": _apart(drawn, pool),
        "classes": float(np.median((counts > 0).sum(1))),
    }


def features(population: Population, seed: int) -> dict[str, float] | None:
    """``between``: the share of the features' variance within a class that lies between clients;
    ``chance``: the same with clients shuffled within each class. None for tokens.

    Args:
        population: The clients' data.
        seed: Draws the rows and features that are looked at, and shuffles clients.

    Returns:
        {"between", "chance"}, shares in 0..1.
    """
    if population.x.dtype in TOKENS:
        return None
    rng = Key(seed).numpy("doctor features")
    client = np.concatenate([np.full(len(rows), k) for k, rows in enumerate(population.train)])
    rows = np.concatenate(population.train)
    keep = np.sort(rng.permutation(len(rows))[:ROWS])
    client, rows = client[keep], rows[keep]
    x = population.x[rows].flatten(1).double().numpy()
    x = x[:, np.sort(rng.permutation(x.shape[1])[:FEATURES])]
    classes = population.y.numpy()[rows] if population.classes else np.zeros(len(rows), dtype=int)
    shuffled = client.copy()
    for label in np.unique(classes):
        inside = classes == label
        shuffled[inside] = rng.permutation(client[inside])
        x[inside] -= x[inside].mean(0)
    return {"between": _between(x, classes, client), "chance": _between(x, classes, shuffled)}


def public_apart(population: Population) -> float | None:
    """How far the public samples lie from the private ones: difference of means by the pooled
    deviation, root mean square over the features; None without a public set.

    Args:
        population: The clients' data, with a public set.

    Returns:
        In pooled standard deviations, from 0.
    """
    if population.public is None or not len(population.public):
        return None
    rows = np.concatenate(population.train)[:ROWS]
    own, other = (
        t.flatten(1).double().numpy() for t in (population.x[rows], population.public[:ROWS])
    )
    if own.shape[1] != other.shape[1]:
        return None
    spread = np.sqrt((own.var(0) + other.var(0)) / 2)
    varies = spread > 1e-6
    return float(np.sqrt((((own.mean(0) - other.mean(0))[varies] / spread[varies]) ** 2).mean()))


def _apart(counts: Floats, pool: Floats) -> float:
    sizes = counts.sum(1, keepdims=True)
    shares = counts[sizes[:, 0] > 0] / sizes[sizes[:, 0] > 0]
    return float(np.abs(shares - pool).sum(1).mean() / 2)


def _between(x: Floats, classes: NDArray[Any], client: NDArray[Any]) -> float:
    """Σ over (class, client) of n · ‖mean‖² over Σ‖x‖², for x centred by class."""
    _, inverse = np.unique(np.stack([classes, client]), axis=1, return_inverse=True)
    flat = np.asarray(inverse).ravel()
    sums = np.zeros((int(flat.max()) + 1, x.shape[1]))
    np.add.at(sums, flat, x)
    sizes = np.bincount(flat)
    total = float((x**2).sum())
    return float(((sums**2).sum(1) / sizes).sum() / total) if total > 0 else 0.0
