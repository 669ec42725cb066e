"""Partitions: exact, seeded, with the sizes, classes and floors they promise."""

from typing import Any

import numpy as np
import pytest

from fedkin.core.errors import FedkinError
from fedkin.data.partitions.registry import PARTITIONS, parameters, partition
from tests.data.partitions.registry_examples import LABELS, split

BY_LABEL = [name for name in PARTITIONS if name != "natural"]


EXACT = {"iid", "dirichlet", "persfl_ds2", "persfl_ds3", "shards", "label_groups"}


@pytest.mark.parametrize("name", BY_LABEL)
@pytest.mark.parametrize("clients", [4, 10, 37])
def test_no_sample_twice_and_none_lost(name: str, clients: int) -> None:
    part = split(name, clients)
    rows = np.concatenate(part.indices)
    assert len(part.indices) == clients
    assert len(np.unique(rows)) == len(rows)
    assert rows.min() >= 0
    assert rows.max() < len(LABELS)
    assert all(r.dtype == np.int64 and (np.diff(r) > 0).all() for r in part.indices)
    if name in EXACT and not (
        name == "persfl_ds3" and clients < 5
    ):  # 4 clients hold 8 of the 10 classes
        assert len(rows) == len(LABELS)


@pytest.mark.parametrize("name", BY_LABEL)
def test_a_seed_decides_everything(name: str) -> None:
    one, same, other = split(name, seed=3), split(name, seed=3), split(name, seed=4)
    assert all(np.array_equal(a, b) for a, b in zip(one.indices, same.indices, strict=True))
    assert all(np.array_equal(one.truth[key], same.truth[key]) for key in one.truth)
    assert any(not np.array_equal(a, b) for a, b in zip(one.indices, other.indices, strict=True))


@pytest.mark.parametrize(
    ("name", "clients", "params", "words"),
    [
        ("dirichlet", 10, {"alpha": 0}, "alpha=0 must be a number greater than 0"),
        ("dirichlet", 10, {"alpha": -1.0}, "alpha=-1.0"),
        ("dirichlet", 10, {"alpha": float("nan")}, "alpha=nan"),
        (
            "dirichlet",
            10,
            {"alpha": "0.1"},
            "alpha of dirichlet must be a number, not '0.1': its default is 0.1",
        ),
        ("dirichlet", 10, {"floor": -1}, "floor=-1"),
        ("dirichlet", 10, {"over": "samples"}, "'clients' or 'classes'"),
        ("dirichlet", 400, {"floor": 10}, "set floor to 7 or less"),
        ("dirichlet", 3001, {}, "3001 clients cannot share 3000 samples"),
        ("dirichlet", 10, {"alhpa": 1}, "did you mean 'alpha'"),
        ("iid", 0, {}, "clients=0"),
        ("iid", 2.5, {}, "clients=2.5"),
        ("iid", True, {}, "clients=True"),
        ("iid", 10, {"alpha": 1}, "unknown parameter of partition iid 'alpha'"),
        ("persfl_ds1", 10, {"classes": 11}, "classes=11 must be a whole number from 1 to 10"),
        ("persfl_ds1", 10, {"pairs": "any"}, "'random', 'balanced' or 'consecutive'"),
        ("persfl_ds1", 3000, {}, "fewer than one sample a class"),
        ("persfl_ds3", 10, {"sigma": 0}, "sigma=0"),
        ("persfl_ds3", 10, {"sigma": 1e300}, "sigma=1e+300 is above 50"),
        ("two_class", 10, {"low": 50, "high": 40}, "low=50 is above high=40"),
        ("two_class", 10, {"low": 1}, "low=1"),
        ("two_class", 10, {"scale": "some"}, "'demand' or 'all'"),
        ("two_class", 2900, {"low": 2, "high": 900}, "too few samples for its clients"),
        ("shards", 10, {"per_client": 0}, "per_client=0"),
        ("shards", 10, {"size": 151}, "size=151 must be a whole number from 1 to 150"),
        ("label_groups", 3, {}, "3 clients cannot fill 4 groups"),
        ("label_groups", 10, {"groups": [3, 3, 3]}, "sum to 9, but there are 10 classes"),
        ("label_groups", 10, {"groups": [[0, 1], [1, 2]]}, "class 1 is in groups 0 and 1"),
        ("label_groups", 10, {"groups": [[0, 11]]}, "from 0 to 9"),
        ("label_groups", 10, {"groups": []}, "groups is empty"),
        ("label_groups", 10, {"groups": [[0], 1]}, "list of lists of whole numbers, not [[0], 1]"),
        ("label_groups", 10, {"groups": [[0], []]}, "group 1 is []"),
        (
            "label_groups",
            10,
            {"groups": 3},
            "groups of label_groups must be a list of whole numbers or a list of",
        ),
        ("natural", 3, {}, "needs client labels"),
        ("natural", 3, {"client": LABELS[:5]}, "5 client labels for 3000 samples"),
        ("natural", 11, {"client": LABELS}, "only 10 natural clients, not 11"),
        ("dirichlt", 10, {}, "did you mean 'dirichlet'"),
    ],
)
def test_every_mistake_has_its_sentence(
    name: str, clients: Any, params: dict[str, Any], words: str
) -> None:
    with pytest.raises(FedkinError) as error:
        partition(name, LABELS, clients, np.random.default_rng(0), **params)
    assert words in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("name", sorted(set(BY_LABEL) - {"iid"}))
def test_regression_targets_have_no_classes(name: str) -> None:
    with pytest.raises(FedkinError, match="use iid or natural"):
        partition(name, np.linspace(0, 1, 50), 5, np.random.default_rng(0))
    with pytest.raises(FedkinError, match="labels must be 0 or more"):
        partition(name, np.arange(50) - 1, 5, np.random.default_rng(0))


def test_parameters_are_listed_with_defaults() -> None:
    assert parameters("dirichlet") == {"alpha": 0.1, "over": "clients", "floor": 10}
    assert parameters("natural") == {}


@pytest.mark.parametrize("key", ["name", "labels", "clients", "rng"])
def test_a_key_that_is_called_like_an_argument_is_refused(key: str) -> None:
    with pytest.raises(FedkinError, match=f"^unknown parameter of partition dirichlet '{key}'"):
        partition("dirichlet", LABELS, 3, np.random.default_rng(0), **{"alpha": 1.0, key: 6})
