"""SCAFFOLD beside tests/reference/scaffold.py."""

import pytest
import torch
from torch import nn

from fedkin.core.errors import FedkinError
from fedkin.core.model import from_module
from fedkin.methods.scaffold import scaffold
from tests.methods.federation import (
    CLASSES,
    WIDTH,
    Federated,
    agree,
    agree_scores,
    architecture,
    arrays,
    population,
)
from tests.reference import scaffold as reference
from tests.reference.model import accuracy, mean_loss

pytestmark = pytest.mark.certifies("scaffold", "reference")
LR, ROUNDS = 0.2, 5
WORK = {
    "epochs": {"epochs": 2},
    "some": {"steps": 3, "participation": 0.6},
    "decay": {
        "steps": 2,
        "participation": 0.6,
        "milestones": (1, 3),
        "decay": 0.5,
        "compile": "trace",
    },
}


@pytest.mark.parametrize("work", WORK.values(), ids=WORK)
@pytest.mark.parametrize(("kind", "server_lr"), [("mlr", 1.0), ("dnn", 0.7)])
def test_scaffold(kind, server_lr, work):
    """Epochs: clients of unequal sizes take unequal numbers of steps, each divides by its own."""
    model = architecture(kind)
    run = Federated(scaffold(lr=LR, server_lr=server_lr), population(), {kind: model}, **work).run(
        ROUNDS
    )
    start, who = arrays(model.initial), run.participants(ROUNDS)
    theirs = reference.scaffold(
        start, run.data, run.plan(ROUNDS), who, run.rates(LR, ROUNDS), server_lr
    )
    for moment, other in zip(run.moments, theirs, strict=True):
        w = other["server"]["model"]
        agree(
            "scaffold",
            moment.state["parameters"],
            {"model": w, "control": other["server"]["control"]},
        )
        assert set(moment.up) == set(other["moves"])
        for k, up in moment.up.items():
            agree(
                "scaffold",
                up["parameters"],
                {"model": other["moves"][k], "control": other["changes"][k]},
            )
        agree("scaffold", {k: own["control"] for k, own in moment.own.items()}, other["control"])
        for k in run.data:
            x, y = run.data[k]["x_test"], run.data[k]["y_test"]
            for view in ("personal", "global"):
                agree_scores(
                    "scaffold", moment, k, "test", mean_loss(w, x, y), accuracy(w, x, y), view
                )


def test_the_default_server_step_is_1():
    assert scaffold(lr=0.1).hyper["server_lr"] == 1.0


def with_norm():
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(3)
        module = nn.Sequential(
            nn.Linear(WIDTH, 6), nn.BatchNorm1d(6), nn.ReLU(), nn.Linear(6, CLASSES)
        )
    return from_module("norm", module.to(torch.float64))


@pytest.mark.parametrize("server_lr", [1.0, 1.5])
def test_running_statistics_are_averaged_and_have_no_control(server_lr):
    """The server's statistics are the plain mean of the clients', whatever its step: a variance
    stays positive.
    """
    run = Federated(
        scaffold(lr=LR, server_lr=server_lr), population(), {"norm": with_norm()}, steps=3
    ).run(3)
    before = arrays(run.models["norm"].initial)
    for moment in run.moments:
        now = moment.state["parameters"]
        statistics = [name for name in now["model"] if name.startswith("buffer:")]
        assert statistics
        assert not any(name.startswith("buffer:") for name in now["control"])
        for name in statistics:
            mean = sum(up["parameters"]["model"][name] for up in moment.up.values()) / len(
                moment.up
            )
            agree("scaffold", now["model"][name], mean)
            assert abs(now["model"][name] - before[name]).max() > 1e-3
        before = now["model"]


def test_a_server_step_of_0_is_refused():
    with pytest.raises(FedkinError, match="server_lr"):
        scaffold(lr=0.1, server_lr=0.0)
