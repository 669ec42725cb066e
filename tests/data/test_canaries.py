"""Training rows with a wrong label, of which a fair coin leaves half out."""

from dataclasses import replace

import numpy as np
import pytest

from fedkin.core.errors import FedkinError
from fedkin.core.rng import Key
from fedkin.data.canaries import canaries_of, plant
from fedkin.data.validation import check_population
from tests.awkward import population

PEOPLE = population()


def test_a_canary_has_another_class_and_its_owner_says_whose_it_is() -> None:
    planted = plant(PEOPLE, 60, Key(5))
    found = canaries_of(planted)
    assert found is not None
    check_population(planted)
    assert len(set(found.rows.tolist())) == 60
    owners = {int(row): k for k, rows in enumerate(PEOPLE.train) for row in rows}
    assert [owners[row] for row in found.rows.tolist()] == found.clients.tolist()
    changed = np.flatnonzero((planted.y != PEOPLE.y).numpy())
    assert sorted(found.rows.tolist()) == changed.tolist()
    assert canaries_of(PEOPLE) is None


def test_who_is_not_inside_is_trained_on_by_nobody() -> None:
    planted = plant(PEOPLE, 60, Key(5))
    found = canaries_of(planted)
    assert found is not None
    assert 15 < found.inside.sum() < 45
    trained = set(np.concatenate(planted.train).tolist())
    assert [row in trained for row in found.rows.tolist()] == found.inside.tolist()
    everybody = set(np.concatenate(PEOPLE.train).tolist())
    assert everybody - trained == set(found.rows[~found.inside].tolist())
    for split in ("val", "test"):
        for before, after in zip(getattr(PEOPLE, split), getattr(planted, split), strict=True):
            np.testing.assert_array_equal(before, after)


def test_another_seed_plants_others() -> None:
    one, same, other = (canaries_of(plant(PEOPLE, 40, Key(seed))) for seed in (5, 5, 6))
    assert one is not None
    assert other is not None
    assert same is not None
    np.testing.assert_array_equal(one.rows, same.rows)
    np.testing.assert_array_equal(one.inside, same.inside)
    assert set(one.rows.tolist()) != set(other.rows.tolist())


def test_what_cannot_be_planted_is_refused() -> None:
    rows = sum(len(own) for own in PEOPLE.train)
    with pytest.raises(FedkinError, match=f"is {rows}, and may be at most half of the {rows}"):
        plant(PEOPLE, rows, Key(5))
    with pytest.raises(FedkinError, match="needs one class a sample: leave it out"):
        plant(replace(PEOPLE, classes=0), 2, Key(5))
    few = replace(PEOPLE, train=tuple(own[:1] for own in PEOPLE.train))
    check_population(plant(few, 3, Key(5)))  # all coins say inside
    with pytest.raises(FedkinError, match="client s1 would have no training row left: ask for few"):
        plant(few, 3, Key(2))
