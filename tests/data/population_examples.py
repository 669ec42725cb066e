"""What the tests of population and of its parts have in common."""

from typing import Any

import numpy as np

from fedkin.core.rng import Key
from fedkin.data.population import Population
from fedkin.data.population_builder import build
from fedkin.data.source import Source

RNG = np.random.default_rng(0)


def toy_source(n: int = 600, **changes: Any) -> Source:
    x = RNG.integers(0, 256, (n, 1, 4, 4), np.uint8)
    x[:, 0, 0, 0], x[:, 0, 0, 1] = (
        np.arange(n) // 256,
        np.arange(n) % 256,
    )  # a row can be told from its pixels
    source = Source("toy", x, np.arange(n) % 5, 5, official_test=np.arange(n) >= n - 100)
    return source._replace(client=np.array([f"c{i % 12:02d}" for i in range(n)]), **changes)


SOURCE = toy_source()


def make(
    name: str = "iid", clients: int | None = 10, seed: int = 0, source: Source = SOURCE, **kw: Any
) -> Population:
    return build(source, name, clients, Key(seed), **kw)
