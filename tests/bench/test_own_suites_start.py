"""Every federation of fedkin's own suites starts: its model in full, one round on a handful of
made-up samples.

Only sizes shrink (rounds, steps, clients, samples): names and every other key stay.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fedkin.bench.suite import Content, names, suite
from fedkin.bench.trial import spec_of
from fedkin.experiment.run import run
from fedkin.report.summary import summary

PICTURES = {"fashion_mnist": ((28, 28), 10), "cifar10": ((32, 32, 3), 10)}
CLIENTS = 4
FEW: dict[str, dict[str, Any]] = {  # what makes a section short, of the keys that it has
    "split": {"low": 12, "high": 24, "least": 4},
    "public": {"samples": 12},
    "train": {"batch_size": 10, "steps": 1, "epochs": 1},
    "run": {"clients": CLIENTS, "rounds": 1, "evaluate_every": 1},
}
LABELS = [f"{name} {label}" for name in names() for label in suite(name).settings]


def short(spec: Content) -> Content:
    """A specification of which only what makes it long is made short."""
    less = {
        section: {key: value for key, value in few.items() if key in spec.get(section, {})}
        for section, few in FEW.items()
    }
    if spec["split"]["name"] == "dirichlet":
        less["split"]["alpha"] = 10.0  # so that each of a few samples' clients has enough
    return {**spec, **{section: {**spec[section], **few} for section, few in less.items()}}


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files of the data sets' shapes with random values."""
    folder, draw = tmp_path_factory.mktemp("data"), np.random.default_rng(0)

    def save(name: str, x: Any, classes: int, **more: Any) -> None:
        rows = len(x)
        y = (np.arange(rows) % classes).astype(np.uint8)
        np.savez(folder / f"{name}.npz", x=x, y=y, **more)

    def pixels(rows: int, shape: tuple[int, ...]) -> Any:
        return draw.integers(0, 256, (rows, *shape), np.uint8)

    for name, (shape, classes) in PICTURES.items():
        halves = {}
        for part, rows in (("train", 600), ("test", 100)):
            halves[f"x_{part}"] = pixels(rows, shape)
            halves[f"y_{part}"] = (np.arange(rows) % classes).astype(np.uint8)
        np.savez(folder / f"{name}.npz", **halves)
    save("femnist", pixels(240, (28, 28)), 62, client=np.arange(240) % CLIENTS)
    windows = draw.normal(size=(400, 128, 9)).astype(np.float32)
    bouts = {"client": np.arange(400) // 100, "bout": np.arange(400) // 5}
    save("har", windows, 6, **bouts)
    speeches = {role: ["to be or not to be that is the question"] * 160 for role in "abcd"}
    (folder / "shakespeare.json").write_text(json.dumps(speeches))
    return folder


@pytest.mark.rotating
@pytest.mark.parametrize("label", LABELS)
def test_a_federation_of_fedkins_own_suites_starts(label: str, data: Path, tmp_path: Path) -> None:
    name, setting = label.split()
    given = suite(name).settings[setting].spec
    content = {**short(given), "method": {"name": "fedavg"}}
    told = summary(run(spec_of(content, str(data)), tmp_path / "run"))
    assert told["finished"]
    assert told["rounds"] == 1
