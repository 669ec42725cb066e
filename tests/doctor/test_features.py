"""Folds of the probes."""

from dataclasses import replace

import numpy as np
import pytest

from benchmarks.made_verdicts import SETS
from fedkin.doctor.features import folds_of, groups_of, rows_of

BY_NAME = {made.name: made for made in SETS}


def test_folds_are_even_in_every_client_and_class() -> None:
    population = BY_NAME["one concept, 7 % positive"].make(0)
    rows = rows_of(population, 0)
    fold = folds_of(rows, 5, np.random.default_rng(0))
    for client in range(28):
        own = fold[rows.owner == client]
        assert np.ptp(np.bincount(own, minlength=5)) <= 1
        positive = own[rows.y[rows.owner == client] == 1]
        assert np.bincount(positive, minlength=5).max() <= -(-len(positive) // 5) + 1


@pytest.mark.parametrize("unit", [2.0**-40, 2.0**40])
def test_features_do_not_depend_on_the_unit_of_the_numbers(unit: float) -> None:
    population = BY_NAME["one concept, 40 rows"].make(0)
    one, other = (
        rows_of(replace(population, x=population.x * scale), 0).views["linear"]
        for scale in (1.0, unit)
    )
    assert one.shape[1] > 1
    np.testing.assert_allclose(one, other)


def test_rows_that_belong_together_are_in_one_fold() -> None:
    """A recording's rows are alike: with some of them in every fold each client alone would look
    perfect.
    """
    population = BY_NAME["own concepts"].make(0)
    assert groups_of(population) is None
    bout, splits = np.arange(len(population.x)), (population.train, population.val, population.test)
    for rows in (part[client] for part in splits for client in range(population.clients)):
        bout[rows] = rows[0] + (np.arange(len(rows)) // 7) * 3
    mixed = bout % 5
    grouped = replace(population, truth={"noise": mixed, "bout": bout, "w": np.ones((12, 6))})
    found = groups_of(grouped)
    assert found is not None
    assert len(np.unique(found)) == len(np.unique(bout))
    rows = rows_of(grouped, 0)
    assert rows.group is not None
    fold = folds_of(rows, 5, np.random.default_rng(1))
    assert all(len(np.unique(fold[rows.group == one])) == 1 for one in np.unique(rows.group))
    for client in range(len(rows.clients)):
        own = fold[rows.owner == client]
        assert np.bincount(own, minlength=5).min() > len(own) // 10
