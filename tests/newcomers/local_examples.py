"""What the tests of local and of its parts have in common."""

from pathlib import Path

import numpy as np

from fedkin.experiment.run import experiment, run
from fedkin.newcomers.local import Learned
from fedkin.runtime.replay import Runtime
from fedkin.setup.loaded_run import load
from tests.engine.small import content


def learned(folder: Path) -> Learned:
    coordinator, parts, _ = load(folder)
    return Learned(parts, coordinator.state, parts.spec.run.rounds, Runtime("trace"))


def two_kinds(folder: Path) -> str:
    """Ten clients in a file: the labels of odd ones are another function of x than those of even
    ones.
    """
    rng = np.random.default_rng(0)
    truths = rng.normal(size=(2, 6, 4))
    x = rng.normal(size=(10, 60, 6))
    y = np.stack([(x[k] @ truths[k % 2]).argmax(1) for k in range(10)])
    np.savez(
        folder / "kinds.npz",
        x=x.reshape(-1, 6),
        y=y.reshape(-1),
        client=np.repeat(np.arange(10), 60),
    )
    return str(folder / "kinds.npz")


KINDS = {
    "comet": {"clusters": 2},
    "cgpfl": {"clusters": 2, "lam": 2.0, "lr": 0.3},
    "ifca": {"clusters": 2},
    "ppfl": {"models": 2},
}


def kinds(method: str, folder: Path, **more) -> Learned:
    """A run on two kinds of clients; four of the ten join afterwards."""
    settings = content(
        method, **{f"method__{name}": value for name, value in KINDS[method].items()}
    )
    settings |= {
        "data": {"name": two_kinds(folder)},
        "split": {"name": "natural"},
        "train": {"steps": 15, "batch_size": 10, "lr": 0.3},
        "run": {
            "clients": 10,
            "rounds": 6,
            "seed": 3,
            "holdout_clients": 0.4,
            "holdout_labels": [],
            **more,
        },
    }
    return learned(run(experiment(settings), folder / "run"))
