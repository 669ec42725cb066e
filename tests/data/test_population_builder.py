"""From a source to clients: what is divided, public sets, truth, and mistakes."""

import time
from typing import Any

import numpy as np
import pytest
import torch

from fedkin.core.errors import FedkinError
from fedkin.core.rng import Key
from fedkin.data.population import Population, Split
from fedkin.data.population_builder import build
from fedkin.data.public import Public
from fedkin.data.source import Source
from fedkin.data.synthetic import linear_toy, synthetic_mixture
from fedkin.data.tables.encoding import Category, Number
from fedkin.data.tables.recipe import Column, Recipe
from tests.data.population_examples import SOURCE, make, toy_source

ALL_ROWS = ("train", "val", "test")


def used(p: Population) -> np.ndarray:
    return np.concatenate([np.concatenate(p.rows(split)) for split in ALL_ROWS])  # type: ignore[arg-type]


def test_the_official_test_set_is_left_alone_unless_merged_openly() -> None:
    apart, merged = make(), make(pool="all")
    assert sorted(used(apart)) == list(range(500))
    assert sorted(used(merged)) == list(range(600))
    assert apart.name == "toy/iid"
    assert merged.name == "toy/iid/train+test"


def row_of(x: torch.Tensor) -> np.ndarray:
    return (x[:, 0, 0, 0].to(torch.int64) * 256 + x[:, 0, 0, 1]).numpy()


@pytest.mark.parametrize("pool", ["train", "all"])
def test_held_out_public_samples_leave_the_private_pool(pool: str) -> None:
    p = make(public=Public(60), pool=pool)
    assert p.public is not None
    assert p.public.shape == (60, 1, 4, 4)
    assert p.public_y is None
    public = row_of(p.public)
    assert len(set(public)) == 60
    assert public.max() < 500  # never an official test row
    assert not set(public) & set(used(p))
    assert len(used(p)) == (440 if pool == "train" else 540)


@pytest.mark.parametrize("how", [{}, {"empty": "drop", "least": 5}, {"name": "natural"}])
def test_rows_of_held_out_clients_are_never_public(how: dict[str, Any]) -> None:
    p = make(clients=12, public=Public(100, labeled=True), apart=0.3, **how)
    assert p.public is not None
    assert len(p.apart) == 4
    assert not set(row_of(p.public)) & set(used(p))
    whole = make(clients=12, apart=0.3, **how)
    assert whole.apart == p.apart
    parts: tuple[Split, ...] = ("train", "val", "test")
    for client in p.apart:  # they keep every row that is theirs
        assert sum(len(p.rows(part)[client]) for part in parts) == sum(
            len(whole.rows(part)[client]) for part in parts
        )
    assert p.digest() != make(clients=12, public=Public(100, labeled=True), **how).digest()


@pytest.mark.parametrize("public", [None, Public(20)])
def test_an_encoding_knows_no_row_of_held_out_clients(public: Public | None) -> None:
    """Neither for the scale of a column of numbers nor for what values another one has."""
    owner = np.arange(600) % 12
    cells = np.stack([owner**2.0, owner], 1)
    recipe = Recipe((Column("age"), Column("town", tuple(f"t{k:02d}" for k in range(12)))))
    source = toy_source(x=cells, columns=recipe, official_test=None)
    p = make("natural", None, source=source, apart=0.3, public=public)
    assert p.encoding is not None
    assert len(p.apart) == 4
    others = [k for k in range(12) if k not in p.apart]
    age, town = p.encoding.features
    assert isinstance(age, Number)
    assert isinstance(town, Category)
    seen = np.concatenate([cells[p.train[k], 0] for k in others])
    assert (age.mean, age.std) == (pytest.approx(seen.mean()), pytest.approx(seen.std()))
    assert town.values == tuple(f"t{k:02d}" for k in others)


def test_a_public_set_takes_whole_groups() -> None:
    source = toy_source(group="take", truth={"take": np.arange(600) // 3})
    source = source._replace(client=np.arange(600) // 100, official_test=None)
    p = make("natural", None, source=source, public=Public(40, labeled=True))
    assert p.public is not None
    assert p.public_y is not None
    public = row_of(p.public)
    np.testing.assert_array_equal(p.public_y.numpy(), source.y[public])
    assert len(public) == 39
    assert not set(public // 3) & set(used(p) // 3)
    assert p.said == (
        "the public set has 39 rows, not 40: rows that belong together are held out together "
        "(public.groups = 'parted' takes them one by one)",
    )
    parted = make("natural", None, source=source, public=Public(40, labeled=True, groups="parted"))
    assert parted.public is not None
    assert (len(parted.public), parted.said) == (40, ())
    alone = make("natural", None, source=source, group="none", public=Public(40, labeled=True))
    assert torch.equal(parted.public, alone.public)
    assert make("natural", None, source=source, public=Public(39)).said == ()


def test_a_group_that_has_official_test_rows_is_not_public() -> None:
    """Copies of official test rows, which clients are tested on."""
    source = toy_source(100, official_test=np.arange(100) >= 60)
    x = np.concatenate([source.x[:60], source.x[:40]])
    y = np.concatenate([source.y[:60], source.y[:40]])
    copies = source._replace(x=x, y=y)
    p = make(clients=2, source=copies, pool="all", group="duplicates", public=Public(10))
    assert p.public is not None
    assert set(row_of(p.public)) <= set(range(40, 60))
    q = make(clients=2, source=copies, pool="all", group="duplicates", public=Public(59))
    assert q.public is not None
    assert sorted(row_of(q.public)) == list(range(40, 60))
    everywhere = copies._replace(x=x.repeat(1, 0) * 0, y=y * 0, classes=1)
    with pytest.raises(FedkinError, match=r"no group of rows of toy can be held out as a whole"):
        make(clients=2, source=everywhere, pool="all", group="duplicates", public=Public(10))


def test_one_group_at_least_is_public_and_one_stays_private() -> None:
    halves = toy_source(truth={"half": np.arange(600) // 300 % 2})
    p = make(source=halves, group="half", public=Public(5), clients=1, fractions=(1.0, 0.0, 0.0))
    assert p.public is not None
    assert {len(p.public), len(used(p))} == {200, 300}
    one = toy_source(truth={"half": np.zeros(600)})
    with pytest.raises(FedkinError, match=r"set public\.groups to 'parted', or name another"):
        make(source=one, group="half", public=Public(5), clients=1, fractions=(1.0, 0.0, 0.0))


def test_public_from_another_source() -> None:
    other = toy_source(300)._replace(name="other", y=np.arange(300) % 4, classes=4)
    p = make(public=Public(50, other, labeled=True))
    assert p.public is not None
    assert p.public_y is not None
    rows = row_of(p.public)
    assert rows.max() < 200
    np.testing.assert_array_equal(p.public.numpy(), other.x[rows])
    np.testing.assert_array_equal(p.public_y.numpy(), other.y[rows])
    assert len(used(p)) == 500
    assert not torch.equal(p.public, make(seed=3, public=Public(50, other)).public)


@pytest.mark.parametrize(
    ("public", "words"),
    [
        (Public(500), "toy can give 1 to 499"),
        (Public(0), "size=0"),
        (Public(201, toy_source(300)), "1 to 200"),
        (
            Public(5, toy_source()._replace(x=np.zeros((600, 1, 5, 4), np.uint8), name="wide")),
            "wide have shape (1, 5, 4)",
        ),
        (
            Public(5, toy_source()._replace(x=np.zeros((600, 1, 4, 4), np.float32))),
            "are float32, but toy has uint8",
        ),
        (Public(5, toy_source()._replace(classes=9), labeled=True), "(9 classes) do not fit"),
    ],
)
def test_public_sets_that_cannot_be(public: Public, words: str) -> None:
    with pytest.raises(FedkinError) as error:
        make(public=public)
    assert words in str(error.value)


def test_natural_clients_keep_their_names() -> None:
    p = make("natural", None)
    assert p.names == tuple(f"c{i:02d}" for i in range(12))
    assert SOURCE.client is not None
    for k, name in enumerate(p.names):
        assert set(SOURCE.client[np.concatenate([p.train[k], p.val[k], p.test[k]])]) == {name}
    assert make("natural", 5).clients == 5


def test_official_test_rows_per_natural_client() -> None:
    p = make("natural", None, pool="all", test="official", fractions=(0.8, 0.2, 0.0))
    assert SOURCE.official_test is not None
    assert sorted(np.concatenate(p.test)) == list(range(500, 600))
    assert not SOURCE.official_test[np.concatenate([*p.train, *p.val])].any()


def test_per_client_truth_follows_its_client() -> None:
    source = synthetic_mixture(clients=9, dim=5, test_rows=10)
    whole = make(
        "natural", None, source=source, pool="all", test="official", fractions=(0.8, 0.2, 0.0)
    )
    np.testing.assert_array_equal(whole.truth["alpha"], source.truth["alpha"])
    few = make("natural", 4, source=source, pool="all", test="official", fractions=(0.8, 0.2, 0.0))
    np.testing.assert_array_equal(
        few.truth["alpha"], source.truth["alpha"][[int(name) for name in few.names]]
    )
    assert few.truth["theta"].shape == (3, 5)
    assert "alpha" not in make("iid", 5, source=source).truth


def test_groups_of_a_source_stay_whole() -> None:
    source = toy_source(truth={"bout": np.arange(600) // 20})
    p = make("natural", None, source=source._replace(client=np.arange(600) // 200), group="bout")
    for k in range(p.clients):
        seen = [set(source.truth["bout"][p.rows(s)[k]]) for s in ALL_ROWS]  # type: ignore[arg-type]
        assert len(set.union(*seen)) == sum(len(s) for s in seen)
    with pytest.raises(FedkinError, match=r"no row-wise truth 'bouts'.*it has bout"):
        make(source=source, group="bouts")


def test_empty_clients_are_refused_or_dropped() -> None:
    params = {"alpha": 0.01, "floor": 0}
    with pytest.raises(
        FedkinError, match=r"client \d+ has [012] samples, too few for train and val and test"
    ):
        make("dirichlet", 40, partition_params=params)
    p = make("dirichlet", 40, partition_params=params, empty="drop")
    assert p.clients == len(p.truth["kept"]) < 40
    assert p.names == tuple(str(k) for k in p.truth["kept"])
    groups = make("label_groups", 10, partition_params={"groups": [3, 2]}, empty="drop")
    assert groups.clients == 10
    assert groups.truth["group"].tolist() == [0] * 5 + [1] * 5
    assert len(groups.truth["class_group"]) == 5


def test_clients_below_the_least_are_called_so() -> None:
    owner = np.repeat(["a", "b", "c"], [400, 150, 50])
    source = toy_source(official_test=None)._replace(client=owner)
    natural: dict[str, Any] = {"source": source, "name": "natural", "clients": None}
    said = make(**natural, least=200).said
    few = "2 of 3 clients have fewer than 200 samples (split.least)"
    assert said[-1] == f"{few} and are left out, 200 rows: b, c"
    fewer = r"all have fewer than 600 samples \(split\.least\)"
    with pytest.raises(FedkinError, match=f"no client is left, {fewer}"):
        make(**natural, least=600)


def test_comet_fractions_leave_their_share_in_the_truth() -> None:
    p = make(fractions="comet", clients=5)
    np.testing.assert_array_equal(p.sizes("train"), np.rint(p.truth["train_share"] * 100))


@pytest.mark.parametrize(
    ("kw", "words"),
    [
        ({"pool": "both"}, "pool='both' is not known: use 'train' or 'all'"),
        ({"test": "official"}, "needs pool='all'"),
        ({"empty": "keep"}, "'error' or 'drop'"),
        ({"source": linear_toy(), "test": "official"}, "no official test rows"),
        ({"name": "natural", "source": SOURCE._replace(client=None)}, "no natural clients"),
        ({"clients": None}, "needs a number of clients"),
        ({"partition_params": {"alpha": 1}}, "unknown parameter of partition iid"),
    ],
)
def test_build_mistakes(kw: dict[str, Any], words: str) -> None:
    with pytest.raises(FedkinError) as error:
        make(**kw)
    assert words in str(error.value)


def test_regression_population() -> None:
    p = make("natural", None, source=linear_toy())
    assert (p.task, p.classes, p.y.dtype) == ("regression", 0, torch.float32)
    assert p.histogram("train").shape == (3, 0)
    assert p.truth["w"].shape == (3, 2)


@pytest.mark.parametrize("empty", ["error", "drop"])
def test_copies_of_official_test_rows_are_not_trained_on(empty: str) -> None:
    source = toy_source(100, official_test=np.arange(120) >= 80)
    rows = np.r_[np.arange(80), np.arange(40)]  # half of the training rows are tested on as well
    copies = source._replace(x=source.x[rows], y=source.y[rows], client=rows % 2)
    how: dict[str, Any] = {"source": copies, "pool": "all", "test": "official", "empty": empty}
    p = make("natural", None, group="duplicates", **how)
    for k in range(2):
        learned = row_of(p.x[np.concatenate([p.train[k], p.val[k]])])
        assert not set(learned) & set(row_of(p.x[p.test[k]]))
        assert sorted(learned) == [row for row in range(40, 80) if row % 2 == k]
        assert len(p.test[k]) == 20
    assert p.said == (
        "40 rows are in no split: they belong together (duplicates) with official test rows of the "
        "same client",
    )
    assert make("natural", None, **how).said == ()


def test_a_client_of_nothing_but_copies_is_too_small() -> None:
    source = toy_source(100, official_test=np.arange(80) >= 40)
    rows = np.r_[np.arange(40), np.arange(40)]
    copies = source._replace(x=source.x[rows], y=source.y[rows], client=rows % 2)
    how: dict[str, Any] = {"source": copies, "pool": "all", "test": "official"}
    with pytest.raises(FedkinError, match="client 0 has 0 groups, too few for train and val"):
        make("natural", None, group="duplicates", **how)
    with pytest.raises(FedkinError, match="no client is left, all are too small"):
        make("natural", None, group="duplicates", empty="drop", **how)


@pytest.mark.parametrize(
    ("column", "how"),
    [("name", {"name": "natural"}), ("kept", {"empty": "drop"}), ("kept", {})],
)
def test_a_column_is_not_overwritten_by_what_the_division_tells(
    column: str, how: dict[str, Any]
) -> None:
    source = SOURCE._replace(truth={column: np.arange(len(SOURCE.x))})
    with pytest.raises(FedkinError, match=f"column '{column}' has a name that split.name="):
        make(source=source, **how)


def test_clients_that_are_left_out_are_told_in_no_square_of_their_number() -> None:
    sizes = np.tile([4, 1], 5000)  # every second client is too small
    owner = np.repeat(np.arange(len(sizes)), sizes)
    rows = len(owner)
    source = Source("many", np.zeros((rows, 1), np.float32), np.zeros(rows, np.int64), 1, owner)
    began = time.process_time()
    found = build(source, "natural", None, Key(0), empty="drop", apart=0.1)
    assert time.process_time() - began < 8.0
    assert found.said[0].startswith("5000 of 10000 clients are too small")
    assert len(found.apart) == 500
