"""From a source to clients: build, public sets, truth, saving, and every check."""

import hashlib
import json
import os
import pickle
import subprocess
import sys
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from fedkin.core.errors import FedkinError
from fedkin.data.population import Population
from fedkin.data.public import Public
from fedkin.data.synthetic import linear_toy
from fedkin.data.validation import check_population
from tests.data.population_examples import SOURCE, make

ALL_ROWS = ("train", "val", "test")


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
        replace(p, apart=(2, 3)),
    ]
    assert len({p.digest(), *(other.digest() for other in others)}) == len(others) + 1


def test_digest_is_what_it_was_before_groups_and_remarks_were_saved() -> None:
    p = make()
    assert replace(p, group="duplicates", said=("a column was left out",)).digest() == p.digest()
    facts = json.dumps(
        {
            "classes": 5,
            "class_names": [],
            "name": p.name,
            "names": list(p.names),
            "task": "classification",
            "truth": [],
        },
        sort_keys=True,
    )
    total = hashlib.sha256(facts.encode())
    arrays = {"x": p.x.numpy(), "y": p.y.numpy()}
    for split in ALL_ROWS:
        rows = p.rows(split)  # type: ignore[arg-type]
        arrays |= {split: np.concatenate(rows), f"{split}_sizes": np.array([*map(len, rows)])}
    for key, array in sorted(arrays.items()):
        total.update(f"{key} {array.dtype.str} {array.shape}".encode() + array.tobytes())
    assert p.digest() == total.hexdigest()


def test_whatever_writes_the_data_changes_the_digest() -> None:
    """By NumPy too, which counts no writes: a known digest would name other data."""
    p = make(public=Public(20, labeled=True))
    assert p.public is not None
    before = p.digest()
    p.x[0] += 1  # by torch
    for array in (p.x.numpy(), p.y.numpy(), p.public.numpy(), p.train[0], *p.truth.values()):
        assert p.digest() == replace(p).digest() != before
        before = p.digest()
        array.flat[0] += 1
    assert p.digest() != before


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


def test_what_is_known_of_the_clients_is_saved_too(tmp_path: Path) -> None:
    p = replace(make(apart=0.4, group="duplicates"), said=("a column was left out",))
    assert len(p.apart) == 4
    p.save(tmp_path)
    q = Population.load(tmp_path)
    assert (q.apart, q.group, q.said) == (p.apart, p.group, p.said)
    assert q.digest() == p.digest()


def test_a_population_that_was_saved_before_these_were_kept(tmp_path: Path) -> None:
    p = make()
    p.save(tmp_path)
    path = tmp_path / "population.json"
    facts = json.loads(path.read_text(encoding="utf-8"))
    for key in ("said", "group"):
        del facts[key]
    path.write_text(json.dumps(facts), encoding="utf-8")
    q = Population.load(tmp_path)
    assert (q.apart, q.group, q.said) == ((), None, ())
    assert q.digest() == p.digest()


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


# --- build


# --- checks
