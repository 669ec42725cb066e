"""Ditto beside tests/reference/ditto.py."""

import numpy as np
import pytest

from fedkin.core.errors import FedkinError
from fedkin.methods.ditto import ditto
from tests.methods.federation import (
    Federated,
    agree,
    agree_scores,
    architecture,
    arrays,
    population,
)
from tests.reference import ditto as reference
from tests.reference.model import accuracy, flatten, mean_loss

pytestmark = pytest.mark.certifies("ditto", "reference")
LR, ROUNDS = 0.3, 5
WORK = {
    "epochs": {"epochs": 1},
    "some, decay": {
        "steps": 3,
        "participation": 0.6,
        "milestones": (2, 3),
        "decay": 0.5,
        "compile": "trace",
    },
}
HYPER = {
    "as [train]": {"lam": 0.7},
    "default": {},
    "own steps": {"lam": 1.3, "personal_lr": 0.1, "personal_steps": 5},
    "received": {"lam": 0.7, "personal_steps": 2, "start": "received"},
}


def federated(kind, hyper, work):
    return Federated(ditto(lr=LR, **hyper), population(), {kind: architecture(kind)}, **work).run(
        ROUNDS
    )


@pytest.mark.parametrize("work", WORK.values(), ids=WORK)
@pytest.mark.parametrize("hyper", HYPER.values(), ids=HYPER)
@pytest.mark.parametrize("kind", ["mlr", "dnn"])
def test_ditto(kind, hyper, work):
    run = federated(kind, hyper, work)
    theirs = reference.ditto(
        arrays(run.models[kind].initial),
        run.data,
        run.plan(ROUNDS),
        run.plan(ROUNDS, steps=hyper.get("personal_steps")),
        run.participants(ROUNDS),
        run.rates(LR, ROUNDS),
        run.rates(hyper.get("personal_lr", LR), ROUNDS),
        hyper.get("lam", 1.0),
        received=hyper.get("start") == "received",
    )
    for moment, other in zip(run.moments, theirs, strict=True):
        w = other["server"]["model"]
        agree("ditto", moment.state, {"parameters": w})
        agree(
            "ditto",
            moment.up,
            {k: {"parameters": upload} for k, upload in other["uploads"].items()},
        )
        for k, v in other["personal"].items():
            agree("ditto", moment.own[k], {"parameters": v})
            x, y = run.data[k]["x_test"], run.data[k]["y_test"]
            agree_scores("ditto", moment, k, "test", mean_loss(v, x, y), accuracy(v, x, y))
            agree_scores(
                "ditto", moment, k, "test", mean_loss(w, x, y), accuracy(w, x, y), "global"
            )


def test_personal_and_global_models_differ():
    """The comparison means something: v is nobody's upload and not the global model."""
    last = federated("mlr", {"lam": 0.7}, WORK["epochs"]).moments[-1]
    w = flatten(last.state["parameters"])
    for k, own in last.own.items():
        assert np.abs(flatten(own["parameters"]) - w).max() > 1e-2
        assert np.abs(flatten(own["parameters"]) - flatten(last.up[k]["parameters"])).max() > 1e-3


@pytest.mark.parametrize("wrong", [{"lam": -1.0}, {"personal_lr": 0.0}, {"personal_steps": 0}])
def test_what_is_refused(wrong):
    with pytest.raises(FedkinError, match=r"method\.\w+ of ditto: input should be"):
        ditto(lr=0.1, **wrong)
