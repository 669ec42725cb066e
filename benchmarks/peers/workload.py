"""The work that everybody does: 40 clients with two classes each, a local epoch of batch 20,
everybody evaluated.
"""

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from fedkin.runs.spec import Spec, parse
from fedkin.setup.build import assemble

BATCH = 20
LR = 0.05


class Workload(NamedTuple):
    """A data set and a model, as fedkin names them."""

    data: str
    model: dict[str, Any]


WORKLOADS = {
    "linear": Workload("fashion_mnist", {"name": "mlr"}),
    "hidden": Workload("fashion_mnist", {"name": "dnn", "hidden": 100}),
    "cnn": Workload("cifar10", {"name": "cnn_cgpfl"}),
}
# the defaults of when docs/performance.md was measured
HYPER = {"pfedme": {"lam": 15.0}, "cgpfl": {"personal_lr": 0.1}}
MOST = {"cnn": 10}  # clients, where 40 take too long


def specification(name: str, rounds: int, method: str = "fedavg", workers: int = 2) -> Spec:
    """The workload as an experiment of fedkin."""
    work = WORKLOADS[name]
    content: dict[str, Any] = {
        "data": {"name": work.data},
        "split": {
            "name": "two_class",
            "low": 400,
            "high": 5000,
            "train": 0.75,
            "val": 0.0,
            "test": 0.25,
        },
        "model": work.model,
        "method": {"name": method, **HYPER.get(method, {})},
        "train": {"batch_size": BATCH, "lr": LR, "epochs": 1},
        "run": {"clients": MOST.get(name, 40), "rounds": rounds, "evaluate_every": 1},
        "engine": {"name": "processes", "workers": workers, "compile": "always"}
        if workers > 1
        else {"name": "inprocess", "compile": "always"},
    }
    return parse(content)[0]


class Arrays(NamedTuple):
    """What a peer needs: samples in client order, where each client's begin, and the
    first model.
    """

    x: np.ndarray  # [samples, ...] float32, training samples
    y: np.ndarray  # [samples]
    bounds: np.ndarray  # [clients + 1]
    x_test: np.ndarray
    y_test: np.ndarray
    bounds_test: np.ndarray

    def client(self, k: int, test: bool = False) -> tuple[np.ndarray, np.ndarray]:
        """Samples and labels of a client."""
        x, y, bounds = (
            (self.x_test, self.y_test, self.bounds_test) if test else (self.x, self.y, self.bounds)
        )
        return x[bounds[k] : bounds[k + 1]], y[bounds[k] : bounds[k + 1]]

    def tests(self) -> list[tuple[Tensor, Tensor]]:
        """Every client's test samples and labels."""
        made = (self.client(k, test=True) for k in range(self.clients))
        return [(torch.from_numpy(x), torch.from_numpy(y)) for x, y in made]

    @property
    def clients(self) -> int:
        return len(self.bounds) - 1


def write(name: str, path: Path) -> None:
    """The workload's arrays and its first parameters as one .npz file."""
    parts = assemble(specification(name, 1))
    people = parts.population
    columns: dict[str, np.ndarray] = {}
    for split, suffix in (("train", ""), ("test", "_test")):
        rows = getattr(people, split)
        order = np.concatenate(rows)
        x = people.x.numpy()[order]
        columns[f"x{suffix}"] = x.astype(np.float32) / 255 if x.dtype == np.uint8 else x
        columns[f"y{suffix}"] = people.y.numpy()[order]
        columns[f"bounds{suffix}"] = np.cumsum([0, *map(len, rows)])
    (model,) = parts.models.values()
    first = {f"first:{key}": value.numpy() for key, value in model.initial.items()}
    np.savez(path, **columns, **first)


def read(path: Path) -> tuple[Arrays, dict[str, np.ndarray]]:
    """(arrays, first parameters by name)."""
    with np.load(path) as file:
        arrays = Arrays(*(file[field] for field in Arrays._fields))
        return arrays, {
            key.removeprefix("first:"): file[key] for key in file.files if key.startswith("first:")
        }


def module(name: str, arrays: Arrays, first: dict[str, np.ndarray]) -> nn.Module:
    """The workload's model as an ordinary torch module, with its first parameters."""
    from fedkin.models.build import MODELS

    recipe = dict(WORKLOADS[name].model)
    made = MODELS[recipe.pop("name")](arrays.x.shape[1:], int(arrays.y.max()) + 1, **recipe)
    made.load_state_dict({key: torch.from_numpy(value) for key, value in first.items()})
    return made


def mean_accuracy(net: nn.Module, tests: list[tuple[Tensor, Tensor]]) -> float:
    """Mean over clients of the share of their test samples that one model for all gets right."""
    with torch.inference_mode():
        right = [(net(x).argmax(1) == y).float().mean().item() for x, y in tests]
    return sum(right) / len(right)
