"""[audit] canaries: training rows with a wrong label, of which a fair coin leaves half out."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np
import torch

from fedkin.core.errors import FedkinError
from fedkin.core.rng import Key
from fedkin.data.arrays import Array
from fedkin.data.population import Population

NAME = "canaries"  # in a population's truth


class Canaries(NamedTuple):
    """rows: of the samples [m]. clients: whose they are [m]. inside: whether trained on [m]."""

    rows: Array
    clients: Array
    inside: Array


def plant(population: Population, count: int, key: Key) -> Population:
    """The population with so many canaries.

    A canary is a training row whose label is replaced by another class, drawn uniformly. A fair
    coin decides whether its client trains on it, or never sees it.

    Args:
        population: With classes.
        count: m.
        key: Of the run: rows, labels and coins are functions of the seed.

    Returns:
        The population, whose ``truth`` says which rows they are.

    Raises:
        FedkinError: It has no classes, or too few rows.
    """
    if population.classes < 2 or population.y.dim() > 1:
        raise FedkinError("audit.canaries needs one class a sample: leave it out")
    owner = np.repeat(np.arange(population.clients), population.sizes("train"))
    rows = np.concatenate(population.train)
    if 2 * count > len(rows):
        raise FedkinError(
            f"audit.canaries is {count}, and may be at most half of the {len(rows)} training rows"
        )
    rng = key.numpy(NAME)
    chosen = np.sort(rng.choice(len(rows), count, replace=False))
    inside = rng.random(count) < 0.5
    shift = rng.integers(1, population.classes, count)
    y = population.y.clone()
    at = torch.from_numpy(rows[chosen])
    y[at] = (y[at] + torch.from_numpy(shift)) % population.classes
    out = set(rows[chosen[~inside]].tolist())
    train = tuple(np.array([r for r in own if r not in out], np.int64) for own in population.train)
    empty = next((k for k, own in enumerate(train) if len(own) == 0), None)
    if empty is not None:
        raise FedkinError(
            f"audit.canaries: client {population.names[empty]} would have no training row left: "
            "ask for fewer"
        )
    canaries = np.stack([rows[chosen], owner[chosen], inside.astype(np.int64)], 1)
    return replace(population, y=y, train=train, truth={**population.truth, NAME: canaries})


def canaries_of(population: Population) -> Canaries | None:
    """The canaries that were planted; None where none were.

    Args:
        population: The clients' data.

    Returns:
        Rows and labels of the canaries, and which were taken in.
    """
    rows = population.truth.get(NAME)
    return None if rows is None else Canaries(rows[:, 0], rows[:, 1], rows[:, 2] == 1)
