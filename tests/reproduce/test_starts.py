"""Every row of every preset starts, and every row that only the claims have: one round, on a
handful of made-up samples. Of presets it is the full-scale specification, of claims both scales'.

Only sizes shrink (rounds, steps, clients, samples, the large networks): every key of the
specification stays. Rows that then ask for the same are started once. Rows that differ in a
method's numbers alone are left to scripts/nightly.
"""

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from torch import nn

from fedkin.experiment.run import run
from fedkin.models.build import MODELS
from fedkin.report.summary import summary
from fedkin.reproduce.claim import register
from fedkin.reproduce.claim import rows_of as rows_of_claims
from fedkin.reproduce.preset import SCALES, Row, names, preset
from fedkin.reproduce.row_spec import spec_of
from fedkin.runs.spec import Spec, parse
from tests.cli.command import fedkin

PICTURES = {"mnist": (28, 28), "fashion_mnist": (28, 28), "cifar10": (32, 32, 3)}
LARGE = ("vgg11", "vgg13", "resnet18", "mobilenet_v2", "cnn_cgpfl", "cnn_persfl")
FEW: Mapping[str, Mapping[str, Any]] = {  # of each base specification, what makes it small
    "cgpfl": {
        "run.clients": 20,
        "split.low": 12,
        "split.high": 24,
        "train.steps": 1,
        "train.batch_size": 3,
    },
    "comet_cifar10": {
        "run.clients": 8,
        "run.participation": 0.8,
        "train.steps": 1,
        "train.batch_size": 2,
        "split.alpha": 5.0,
        "public.samples": 12,
    },
    "persfl_mnist": {"train.batch_size": 40},
    "persfl_pfedme": {"train.batch_size": 40, "train.steps": 1},
    "ppfl_mnist": {"run.clients": 8, "train.batch_size": 16},
    "ppfl_synthetic": {"data.clients": 5, "train.batch_size": 64},
    "femnist": {"run.participation": 1.0, "train.batch_size": 8},
    "knn_per_cifar10": {"run.clients": 6, "train.batch_size": 16},
    "knn_per_femnist": {"train.batch_size": 8},
    "knn_per_shakespeare": {
        "run.clients": 3,
        "data.length": 5,
        "train.batch_size": 8,
        "model.width": 4,
    },
    "stackoverflow": {
        "data.users": 3,
        "run.clients": 3,
        "run.participation": 1.0,
        "data.vocabulary": 40,
    },
}

LESS: Mapping[str, Mapping[str, Any]] = {  # of a method's own options
    "persfl": {"method.lams": [0.0, 0.5], "method.temperatures": [5.0], "method.student_epochs": 1},
    "fedmd": {"method.pretrain_steps": 2, "method.digest_steps": 1},
    "feddf": {"method.distill_steps": 2},
    "hypcluster": {"method.starts": 1},
    "fedrep": {"method.personal_steps": 2},
}


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files of the data sets' shapes with random values."""
    folder, draw = tmp_path_factory.mktemp("data"), np.random.default_rng(0)

    def pictures(shape: tuple[int, ...], classes: int, rows: int) -> tuple[Any, Any]:
        return draw.integers(0, 256, (rows, *shape), np.uint8), (np.arange(rows) % classes).astype(
            np.uint8
        )

    def save(
        name: str, shape: tuple[int, ...], classes: int, train: int, test: int, **more: Any
    ) -> None:
        x_train, y_train = pictures(shape, classes, train)
        x_test, y_test = pictures(shape, classes, test)
        np.savez(
            folder / f"{name}.npz",
            x_train=x_train,
            y_train=y_train,
            x_test=x_test,
            y_test=y_test,
            **more,
        )

    for name, shape in PICTURES.items():
        save(name, shape, 10, 800 if len(shape) == 2 else 480, 100)
    for name in ("cifar100", "cifar100_12k"):
        save(name, (32, 32, 3), 100, 400, 100)
    people = {
        "client_train": np.arange(60) % 3,
        "client_test": np.arange(9) % 3,
        "client_name": np.array([b"a", b"b", b"c"]),
    }
    extra = {
        "x_extra": draw.integers(0, 256, (4, 28, 28), np.uint8),
        "y_extra": np.zeros(4, np.uint8),
    }
    save("femnist", (28, 28), 62, 60, 9, **people, **extra, client_extra=np.full(4, 2))
    speeches = {role: ["to be or not", "that is the", "question whether"] for role in "abcd"}
    (folder / "shakespeare.json").write_text(json.dumps(speeches))
    with h5py.File(folder / "stackoverflow_train.h5", "w") as file:
        for user in range(3):
            posts = [
                " ".join(f"w{word}" for word in row).encode()
                for row in draw.integers(0, 50, (5, 6))
            ]
            file[f"examples/{user:06d}/tokens"] = np.array(posts, dtype=object).astype("S")
    return folder


def _narrow(shape: tuple[int, ...], classes: int, width: int) -> nn.Module:
    """What the large networks have, and nothing more: a convolution with batch norm, two linear
    layers.
    """
    first = nn.Sequential(
        nn.Conv2d(shape[0], width, 3, stride=8), nn.BatchNorm2d(width), nn.ReLU(), nn.Flatten()
    )
    return nn.Sequential(*first, nn.Linear(16 * width, 5), nn.ReLU(), nn.Linear(5, classes))


@pytest.fixture(autouse=True)
def _narrow_models(monkeypatch: pytest.MonkeyPatch) -> None:
    for number, name in enumerate(LARGE):
        monkeypatch.setitem(
            MODELS,
            name,
            lambda shape, classes, width=2 + number: _narrow(shape, classes, width),  # type: ignore[misc]
        )


def started(row: Row, folder: Path) -> Spec:
    """The row's full-scale specification with everything that only makes it long made short."""
    few = dict(FEW[row.spec])
    full = spec_of(row, 0, {})
    if full.train.steps is None:
        few.pop("train.steps", None)
    if full.run.participation == 1:
        few.pop("run.participation", None)
    if "size" in full.split.options:  # of a shard
        few |= {"split.size": 12}
    if row.spec == "ppfl_mnist" and full.data.name == "cifar10":
        few |= {"run.clients": 6}
    if full.model.name == "transformer_lm":
        few |= {"model.width": 8, "model.layers": 1}
    few |= LESS.get(full.method.name, {})
    short = {
        "run.rounds": 1,
        "run.evaluate_every": 1,
        "engine.name": "inprocess",
        "engine.compile": "never",
    }
    return spec_of(row, 0, {**few, **short, "data.dir": str(folder)})


def rows_of(name: str) -> list[Row]:
    return [row for row in preset(name, "full").rows if row.runner == "experiment"]


@cache
def kinds() -> dict[str, Row]:
    """One row for each kind: what it asks for but for its method's numbers and those that are made
    small.
    """
    found: dict[str, Row] = {}
    for name in names():
        for row in rows_of(name):
            found.setdefault(json.dumps(_kind(started(row, Path())), sort_keys=True), row)
    return {row.name: row for row in found.values()}


def _kind(spec: Spec) -> Any:
    content = spec.model_dump(mode="json")
    content["data"]["name"] = content["data"]["name"].replace("fashion_", "")  # the same shape
    for section in ("method", "split", "train"):
        content[section] = {key: _type(value) for key, value in content[section].items()}
    if spec.method.name != "fedavg":  # which starts on every partition and preparation of the data
        del content["split"]
        content["data"] = content["data"]["name"]
    return content


def _type(value: Any) -> Any:
    return (
        type(value).__name__
        if isinstance(value, (int, float, list)) and not isinstance(value, bool)
        else value
    )


def test_every_full_scale_row_is_one_of_the_kinds() -> None:
    everything = {row.name for name in names() for row in rows_of(name)}
    assert len(everything) > len(kinds()) > 60


# the nightly test below has every row of all
@pytest.mark.rotating
@pytest.mark.parametrize("name", sorted(kinds())[::3])
def test_a_row_of_every_third_kind_starts(name: str, data: Path, tmp_path: Path) -> None:
    _start(kinds()[name], data, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("name", names())
def test_every_row_starts(name: str, data: Path, tmp_path: Path) -> None:
    for row in rows_of(name):
        _start(row, data, tmp_path / row.name)


def _start(row: Row, data: Path, out: Path) -> None:
    spec = started(row, data)
    again, _ = parse(spec.model_dump(mode="json", exclude_none=True))
    assert again == spec
    told = summary(run(spec, out / "run"))
    assert told["finished"]
    assert told["rounds"] == 1


@cache
def own_rows() -> dict[str, Row]:
    """The rows that no preset has, at both scales."""
    found = register()
    both = ((scale, rows_of_claims(found, scale)) for scale in SCALES)
    return {
        f"{name} {scale}": row
        for scale, rows in both
        for name, row in rows.items()
        if name in found.own
    }


def user_methods() -> dict[str, Row]:
    """At the small scale, where claims are run: one for each method of a base specification, with
    and without newcomers.
    """
    found: dict[object, tuple[str, Row]] = {}
    for name, row in own_rows().items():
        if name.endswith(" small"):
            spec = spec_of(row, 0, {})
            key = (row.spec, spec.method.name, bool(spec.run.holdout_clients))
            found.setdefault(key, (name, row))
    return dict(found.values())


def test_the_claims_have_rows_of_their_own() -> None:
    assert len(own_rows()) > 100
    assert any(name.endswith("l2sgd small") for name in user_methods())


@pytest.mark.rotating
@pytest.mark.parametrize("name", sorted(user_methods()))
def test_a_row_of_the_claims_starts_for_every_method(name: str, data: Path, tmp_path: Path) -> None:
    _start(user_methods()[name], data, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("paper", sorted(register().titles))
def test_every_row_of_the_claims_starts(paper: str, data: Path, tmp_path: Path) -> None:
    own = register(paper).own
    for name, row in own_rows().items():
        if name.partition(" ")[0] in own:
            _start(row, data, tmp_path / name.replace(" ", "-"))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--list", "nosuch"], "--list shows every preset: leave out nosuch"),
        (["claims", "--dry-run", "--from", "nowhere"], "--from nowhere is no folder"),
    ],
)
def test_what_would_be_ignored_is_refused(words: list[str], said: str) -> None:
    done = fedkin("reproduce", *words)
    assert done.exit_code != 0
    assert said in " ".join(done.stderr.split())
