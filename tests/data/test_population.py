"""From a source to clients: build, public sets, truth, saving, and every check."""

import os
import pickle
import subprocess
import sys
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from fedkin.core.errors import FedkinError
from fedkin.core.rng import Key
from fedkin.data.population import Population
from fedkin.data.population_builder import build
from fedkin.data.public import Public
from fedkin.data.source import Source
from fedkin.data.synthetic import linear_toy, synthetic_mixture
from fedkin.data.validation import check_population

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
ALL_ROWS = ("train", "val", "test")


def used(p: Population) -> np.ndarray:
    return np.concatenate([np.concatenate(p.rows(split)) for split in ALL_ROWS])  # type: ignore[arg-type]


def make(
    name: str = "iid", clients: int | None = 10, seed: int = 0, source: Source = SOURCE, **kw: Any
) -> Population:
    return build(source, name, clients, Key(seed), **kw)


def test_the_official_test_set_is_left_alone_unless_merged_openly() -> None:
    apart, merged = make(), make(pool="all")
    assert sorted(used(apart)) == list(range(500))
    assert sorted(used(merged)) == list(range(600))
    assert apart.name == "toy/iid"
    assert merged.name == "toy/iid/train+test"


def test_sizes_histogram_and_part() -> None:
    p = make("dirichlet", partition_params={"alpha": 0.3})
    for split in ALL_ROWS:
        histogram = p.histogram(split)  # type: ignore[arg-type]
        assert histogram.shape == (10, 5)
        for k, rows in enumerate(p.rows(split)):  # type: ignore[arg-type]
            np.testing.assert_array_equal(histogram[k], np.bincount(SOURCE.y[rows], minlength=5))
        np.testing.assert_array_equal(histogram.sum(axis=1), p.sizes(split))  # type: ignore[arg-type]
    x, y = p.part(3, "val")
    np.testing.assert_array_equal(x.numpy(), SOURCE.x[p.val[3]])
    np.testing.assert_array_equal(y.numpy(), SOURCE.y[p.val[3]])
    with pytest.raises(FedkinError, match="train, val or test"):
        p.sizes("valid")  # type: ignore[arg-type]


def test_digest_changes_with_everything() -> None:
    p = make(public=Public(20, labeled=True))
    assert p.digest() == make(public=Public(20, labeled=True)).digest()
    assert len(p.digest()) == 64
    assert p.public is not None
    others = [
        make(seed=1, public=Public(20, labeled=True)),
        make(public=Public(20)),
        make(public=Public(21, labeled=True)),
        make(fractions=(0.8, 0.0, 0.2), public=Public(20, labeled=True)),
        replace(p, x=p.x.clone().index_fill_(0, torch.tensor([5]), 1)),
        replace(p, y=p.y.flip(0)),
        replace(p, names=p.names[::-1]),
        replace(p, truth={"group": np.zeros(10)}),
        replace(p, val=p.test, test=p.val),
        replace(p, class_names=tuple("abcde")),
        replace(p, public=p.public.flip(0)),
    ]
    assert len({p.digest(), *(other.digest() for other in others)}) == len(others) + 1


def test_save_and_load(tmp_path: Path) -> None:
    for k, p in enumerate(
        [
            make(public=Public(20, labeled=True)),
            make("label_groups", 6, fractions=(0.8, 0.0, 0.2), partition_params={"groups": [3, 2]}),
            make("natural", None, source=linear_toy(), fractions=(0.5, 0.25, 0.25)),
        ]
    ):
        p.save(tmp_path / str(k))
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # torch warns of arrays it may not write to
            q = Population.load(tmp_path / str(k))
        check_population(q)
        assert q.digest() == p.digest()
        assert (q.name, q.task, q.classes, q.names) == (p.name, p.task, p.classes, p.names)
        assert all(
            torch.equal(a, b) for a, b in zip(q.part(1, "train"), p.part(1, "train"), strict=True)
        )
        assert set(q.truth) == set(p.truth)
        assert not [f for f in (tmp_path / str(k)).iterdir() if f.suffix not in (".npy", ".json")]


def test_loaded_samples_are_mapped_and_writing_does_not_reach_the_file(tmp_path: Path) -> None:
    make().save(tmp_path)
    p = Population.load(tmp_path)
    p.x[0] = 0
    p.x[1] = 255
    assert Population.load(tmp_path).digest() == make().digest()
    code = (
        "import sys; from pathlib import Path; from fedkin.data.population import Population as P;"
        "p = P.load(Path(sys.argv[1])); m = Path('/proc/self/maps');"
        "print(p.digest(), not m.exists() or 'x.npy' in m.read_text())"
    )
    run = [sys.executable, "-c", code, str(tmp_path)]
    out = subprocess.run(
        run, capture_output=True, text=True, check=True, env=dict(os.environ)
    ).stdout.split()
    assert out == [make().digest(), "True"]


def test_saving_over_an_old_population_and_damage(tmp_path: Path) -> None:
    make(clients=4, public=Public(20)).save(tmp_path)
    make(clients=7).save(tmp_path)
    assert Population.load(tmp_path).clients == 7
    assert Population.load(tmp_path).public is None
    (tmp_path / "y.npy").write_bytes((tmp_path / "y.npy").read_bytes()[:-8])
    with pytest.raises(FedkinError, match=r"y\.npy is missing or damaged"):
        Population.load(tmp_path)
    np.save(tmp_path / "y.npy", np.zeros(3))
    with pytest.raises(FedkinError, match="not what was saved"):
        Population.load(tmp_path)
    (tmp_path / "population.json").write_text("{")
    with pytest.raises(FedkinError, match="damaged"):
        Population.load(tmp_path)
    with pytest.raises(FedkinError, match="no saved population"):
        Population.load(tmp_path / "nowhere")


def test_population_survives_pickling_to_workers() -> None:
    p = make()
    assert pickle.loads(pickle.dumps(p)).digest() == p.digest()


# --- public sets


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


# --- build


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


# --- checks

GOOD = make(public=Public(20, labeled=True))


def changed(tensor: torch.Tensor | None, row: int, value: float) -> torch.Tensor:
    assert tensor is not None
    copy = tensor.clone()
    copy[row] = value
    return copy


FAULTS: list[tuple[dict[str, Any], str]] = [
    ({"x": GOOD.x.double()}, "uint8 or float32"),
    ({"x": changed(GOOD.x.float(), 7, float("nan"))}, "row 7 of x holds NaN"),
    ({"y": GOOD.y[:-1]}, "y has shape (599,) for 600 samples"),
    ({"y": GOOD.y.int()}, "y is torch.int32"),
    ({"y": changed(GOOD.y, 3, 5)}, "labels run from 0 to 5, but there are 5 classes"),
    ({"y": changed(GOOD.y, 3, -1)}, "labels run from -1"),
    ({"classes": 0}, "there are 0 classes"),
    ({"task": "ranking"}, "task='ranking'"),
    ({"class_names": ("a",)}, "1 class names for 5 classes"),
    ({"train": (), "val": (), "test": (), "names": ()}, "has no clients"),
    ({"names": GOOD.names[1:]}, "9 names"),
    ({"names": ("a",) * 10}, "same name"),
    ({"train": (GOOD.train[0][:0], *GOOD.train[1:])}, "client 0 has no train samples"),
    ({"test": (*GOOD.test[:9], GOOD.test[9][:0])}, "client 9 has no test samples"),
    (
        {"train": (GOOD.train[0] + 599, *GOOD.train[1:])},
        "train rows of client 0 are not rows 0 to 599",
    ),
    ({"train": (GOOD.test[4], *GOOD.train[1:])}, "twice"),
    ({"train": (np.repeat(GOOD.train[0], 2), *GOOD.train[1:])}, "hold a sample twice"),
    ({"public": GOOD.x[:5, :, :3]}, "they must be alike"),
    ({"public": GOOD.x[:5].float()}, "they must be alike"),
    ({"public": None}, "public labels but no public samples"),
    ({"public_y": changed(GOOD.public_y, 0, 5)}, "public labels leave 0 to 4"),
    ({"public_y": torch.zeros(3, dtype=torch.int64)}, "public labels are torch.int64 (3,)"),
]


@pytest.mark.parametrize(("change", "words"), FAULTS)
def test_check_names_each_fault(change: dict[str, Any], words: str) -> None:
    check_population(GOOD)
    with pytest.raises(FedkinError) as error:
        check_population(replace(GOOD, **change))
    assert words in str(error.value)
    assert "\n" not in str(error.value)


def test_one_split_may_be_empty_for_everybody() -> None:
    check_population(make(fractions=(0.75, 0.0, 0.25)))
    check_population(make(fractions=(1.0, 0.0, 0.0)))
