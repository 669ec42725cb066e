"""How far apart clients' labels and features are."""

import numpy as np
import pytest
import torch

from fedkin.data.population import Population
from fedkin.doctor.data import features, labels, public_apart


def population(
    y: np.ndarray, x: np.ndarray, clients: int, public: np.ndarray | None = None
) -> Population:
    rows = tuple(np.array_split(np.arange(len(y)), clients))
    nothing = tuple(np.array([], dtype=np.int64) for _ in range(clients))
    own = None if public is None else torch.tensor(public, dtype=torch.float32)
    return Population(
        "made",
        torch.tensor(x, dtype=torch.float32),
        torch.tensor(y),
        int(y.max()) + 1,
        "classification",
        rows,
        nothing,
        nothing,
        own,
    )


def test_labels_that_are_divided_are_apart_and_shuffled_ones_are_not() -> None:
    y, x = np.repeat(np.arange(4), 200), np.zeros((800, 3))
    divided = labels(population(y, x, 4), 0)
    assert divided is not None
    assert divided["distance"] == pytest.approx(0.75)
    assert divided["classes"] == 1
    shuffled = labels(population(np.random.default_rng(0).permutation(y), x, 4), 0)
    assert shuffled is not None
    assert shuffled["distance"] == pytest.approx(shuffled["chance"], abs=0.03)


def test_features_that_clients_shift_are_seen_and_labels_are_not_taken_for_them() -> None:
    rng = np.random.default_rng(1)
    y = np.repeat(np.arange(4), 200)
    x = (
        rng.normal(size=(800, 6)) + y[:, None]
    )  # features follow the labels, and each client has one label
    alike = features(population(y, x, 4), 0)
    assert alike is not None
    assert alike["between"] < 0.01
    mixed = rng.permutation(y)
    moved = features(
        population(mixed, rng.normal(size=(800, 6)) + np.repeat(np.arange(4), 200)[:, None], 4), 0
    )
    assert moved is not None
    assert moved["between"] > 0.4 > 10 * moved["chance"]


def test_a_public_set_from_elsewhere_is_far() -> None:
    rng = np.random.default_rng(2)
    x, y = rng.normal(size=(400, 5)), rng.integers(0, 3, 400)
    assert (public_apart(population(y, x, 4, rng.normal(size=(300, 5)))) or 1) < 0.2
    assert (public_apart(population(y, x, 4, rng.normal(size=(300, 5)) + 2)) or 0) > 1.5
