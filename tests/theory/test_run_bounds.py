"""The bound and the criterion of real runs, round by round, beside the same from the run's own
states.
"""

from pathlib import Path

import numpy as np
import pytest
import torch

from fedkin.api import Experiment, Result
from fedkin.core.errors import FedkinError
from fedkin.experiment.run import run
from fedkin.setup.loaded_run import load
from fedkin.theory.generalization import Clustered
from fedkin.theory.run_bounds import bound_of, stationarity_of
from fedkin.theory.stationarity import Stationarity

QUICK = {
    "data": "digits",
    "clients": 6,
    "model": "mlr",
    "engine": "inprocess",
    "rounds": 4,
    "run.commit_every": 0,
}


def along(experiment: Experiment, folder: Path, what) -> list:
    """What is found after the setup and after each round."""
    found = []
    run(
        experiment.spec,
        folder,
        progress=lambda record: found.append(what(folder)) if record.phase == "round" else None,
    )
    return found


def test_theorem_2_along_a_run(tmp_path: Path) -> None:
    settings = {
        "method.lam": 2.0,
        "train.steps": 3,
        "split": "two_class",
        "split.low": 20,
        "split.high": 90,
    }
    experiment = Experiment("cgpfl", **QUICK, **settings, **{"method.clusters": 2})
    found: list[Clustered] = along(
        experiment, tmp_path / "a", lambda folder: bound_of(folder, smoothness=0.5)
    )
    assert len(found) == 4
    assert len({one.capacity for one in found}) == 1  # K, d and m stay
    assert len({round(one.distance, 12) for one in found}) == 4  # the models move
    loaded = load(tmp_path / "a")
    total = 0.0
    sizes = loaded.parts.population.sizes("train")
    models = loaded.coordinator.state["models"]
    for client in range(6):
        theta = loaded.at.states.get(client)["theta"]
        apart = [
            sum(float((theta[n] - models[n][k]).square().sum()) for n in theta) for k in range(2)
        ]
        total += sizes[client] / sizes.sum() * min(apart)
    assert found[-1].distance == pytest.approx((2.0 + 0.25) * total, rel=1e-5)
    assert found[-1].distance > 0
    more = Experiment("cgpfl", **QUICK, **settings, **{"method.clusters": 4})
    four: list[Clustered] = along(
        more, tmp_path / "b", lambda folder: bound_of(folder, smoothness=0.5)
    )
    assert four[-1].capacity == pytest.approx(2**0.5 * found[-1].capacity)
    with pytest.raises(FedkinError, match="is a run of cgpfl: this reads runs of ppfl"):
        stationarity_of(tmp_path / "a")


BESIDE = {
    "a part of the clients": {"run.participation": 0.5},
    "a model beside": {"method.safe": True},
    "an optimizer that remembers": {"train.momentum": 0.9, "train.state": "kept"},
    "what was not sent": {"transforms": [{"name": "top_k", "share": 0.5}]},
}


@pytest.mark.rotating
@pytest.mark.parametrize("what", BESIDE)
def test_ordinary_runs_are_read(what: str, tmp_path: Path) -> None:
    quick = {**QUICK, "rounds": 1, "train.steps": 2, **BESIDE[what]}
    cgpfl = Experiment("cgpfl", **quick, **{"method.clusters": 2})
    bound_of(run(cgpfl.spec, tmp_path / "a"), smoothness=0.5)
    found = stationarity_of(run(Experiment("ppfl", **quick).spec, tmp_path / "b"))
    assert found.theta > 0


def test_a_client_that_was_not_drawn_has_its_first_model(tmp_path: Path) -> None:
    quick = {**QUICK, "rounds": 1, "run.participation": 0.5, "train.steps": 2}
    folder = run(Experiment("cgpfl", **quick, **{"method.clusters": 1}).spec, tmp_path / "a")
    loaded = load(folder)
    (model,) = loaded.parts.models.values()
    omega = {name: value[0] for name, value in loaded.coordinator.state["models"].items()}
    sizes, lam = loaded.parts.population.sizes("train"), float(loaded.parts.method.hyper["lam"])
    total, waiting = 0.0, 0
    for client in range(6):
        own = loaded.at.states.get(client)
        theta = model.initial if own is None else own["theta"]
        waiting += own is None
        apart = sum(float((theta[name] - omega[name]).square().sum()) for name in theta)
        total += sizes[client] / sizes.sum() * apart
    assert waiting == 3
    assert bound_of(folder, smoothness=0.5).distance == pytest.approx(
        (lam + 0.25) * total, rel=1e-5
    )


def test_a_server_that_remembers_is_read(tmp_path: Path) -> None:
    quick = {**QUICK, "rounds": 1, "train.steps": 2, "server.optimizer": "momentum"}
    assert stationarity_of(run(Experiment("ppfl", **quick).spec, tmp_path / "a")).theta > 0


def test_equation_26_falls_along_a_run(tmp_path: Path) -> None:
    experiment = Experiment(
        "ppfl",
        **{**QUICK, "rounds": 10},
        **{"method.models": 3, "train.lr": 0.5, "train.steps": 20},
    )
    found: list[Stationarity] = along(experiment, tmp_path / "a", stationarity_of)
    assert found[-1].squared < 0.5 * found[0].squared
    assert all(one.theta > 0 and one.memberships > 0 for one in found)

    loaded = load(tmp_path / "a")  # the same by differences of the objective itself
    state, method = loaded.coordinator.state, loaded.parts.method
    (model,) = loaded.parts.models.values()

    def objective(theta: dict) -> float:
        total = 0.0
        for client in range(6):
            x, y = loaded.parts.population.part(client, "train")
            log = method.predict(
                model, {"theta": theta, "membership": state["memberships"][client]}, x
            )
            total -= float(
                state["shares"][client] * log.double().gather(1, y[:, None].long()).mean()
            )
        return total

    rng = np.random.default_rng(0)
    way = {n: torch.from_numpy(rng.normal(size=v.shape)).float() for n, v in state["theta"].items()}
    size = sum(float(v.square().sum()) for v in way.values()) ** 0.5
    step = 0.02 / size
    ahead, back = ({n: v + s * way[n] for n, v in state["theta"].items()} for s in (step, -step))
    slope = abs(objective(ahead) - objective(back)) / 0.04
    assert (
        0 < slope <= found[-1].theta * 1.01
    )  # a directional derivative is no larger than the gradient's norm

    first = Result(tmp_path / "a").summary["loss"]["personal"]["final"]["mean"]
    losses = []
    for client in range(6):
        x, y = loaded.parts.population.part(client, "test")
        log = method.predict(
            model, {"theta": state["theta"], "membership": state["memberships"][client]}, x
        )
        losses.append(float(-log.gather(1, y[:, None].long()).mean()))
    assert first == pytest.approx(
        np.mean(losses), rel=1e-4
    )  # the loss is the run's own: inputs are scaled as there
