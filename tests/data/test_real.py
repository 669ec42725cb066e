"""The real files, where FEDKIN_DATA names them."""

import os
from pathlib import Path

import numpy as np
import pytest

from fedkin.core.rng import Key
from fedkin.data.population import Population
from fedkin.data.population_builder import build
from fedkin.data.public import Public
from fedkin.data.sources import load

FOLDER = Path(os.environ.get("FEDKIN_DATA") or "/nonexistent")
SHAPES = {
    "mnist": ((70000, 1, 28, 28), 10, 10000),
    "fashion_mnist": ((70000, 1, 28, 28), 10, 10000),
    "cifar10": ((60000, 3, 32, 32), 10, 10000),
    "cifar100_12k": ((12000, 3, 32, 32), 100, 2000),
    "femnist": ((16393, 1, 28, 28), 62, 1685),
    "har": ((10299, 9, 128), 6, 0),
}


def real(name: str):  # type: ignore[no-untyped-def]
    if not (FOLDER / f"{name}.npz").is_file():
        pytest.skip(f"FEDKIN_DATA names no folder with {name}.npz")
    return load(name)


@pytest.mark.parametrize("name", SHAPES)
def test_shapes_and_counts(name: str) -> None:
    source = real(name)
    shape, classes, official = SHAPES[name]
    assert source.x.shape == shape
    assert source.classes == classes == len(source.class_names)
    assert (0 if source.official_test is None else source.official_test.sum()) == official
    assert np.unique(source.y).tolist() == list(range(classes))


def test_har_activities_have_the_published_counts() -> None:
    source = real("har")
    named = dict(zip(source.class_names, np.bincount(source.y).tolist(), strict=True))
    assert named == {
        "walking": 1722,
        "walking upstairs": 1544,
        "walking downstairs": 1406,
        "sitting": 1777,
        "standing": 1906,
        "lying": 1944,
    }
    p = build(source, "natural", None, Key(0), group="bout")
    assert p.clients == 30


@pytest.mark.parametrize(("group", "leaks"), [(None, False), ("none", True)])
def test_har_splits_share_no_second(group: str | None, leaks: bool) -> None:
    """Windows overlap by half: one that ends as another begins must be in its split, and is, unless
    asked otherwise.
    """
    source = real("har")
    p = build(source, "natural", None, Key(0), group=group)
    found = 0
    for k in range(p.clients):
        split = {int(i): name for name in ("train", "val", "test") for i in p.rows(name)[k]}  # type: ignore[arg-type]
        ends = {source.x[i, :, 64:].tobytes(): i for i in split}
        before = {i: ends.get(source.x[i, :, :64].tobytes()) for i in split}
        found += sum(j is not None and split[j] != split[i] for i, j in before.items())
    assert (found > 1000) if leaks else (found == 0)


def test_shakespeares_roles() -> None:
    if not (FOLDER / "shakespeare.json").is_file():
        pytest.skip("FEDKIN_DATA names no folder with shakespeare.json")
    source = load("shakespeare", stride=50)
    assert source.classes == 76
    p = build(source, "natural", 100, Key(0))
    speech = source.truth["speech"]
    assert all(not set(speech[a]) & set(speech[b]) for a, b in zip(p.train, p.test, strict=True))
    assert load("shakespeare", task="word", stride=50).classes == 2000


def test_femnist_writers_keep_their_official_test_rows() -> None:
    source = real("femnist")
    p = build(
        source, "natural", None, Key(0), fractions=(0.8, 0.2, 0.0), pool="all", test="official"
    )
    assert p.clients == 105
    assert p.sizes("test").sum() == 1685
    assert not set(p.names) & set(load("femnist_extra").client)  # type: ignore[arg-type]


def test_comets_population(tmp_path: Path) -> None:
    source, public = real("cifar10"), real("cifar100_12k")
    p = build(
        source,
        "dirichlet",
        100,
        Key(1),
        fractions="comet",
        pool="all",
        public=Public(2000, public),
        partition_params={"alpha": 0.01},
    )
    assert p.public is not None
    assert tuple(p.public.shape) == (2000, 3, 32, 32)
    assert p.sizes("train").min() >= 1
    p.save(tmp_path)
    assert Population.load(tmp_path).digest() == p.digest()
