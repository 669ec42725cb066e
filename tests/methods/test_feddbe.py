"""FedDBE beside tests/reference/feddbe.py."""

from collections import OrderedDict

import numpy as np
import pytest
import torch
from torch import nn

from fedkin.core.aggregation import Reply
from fedkin.core.errors import FedkinError
from fedkin.core.model import from_module
from fedkin.methods import make
from fedkin.methods.feddbe import feddbe
from fedkin.models.head import with_head
from tests.laws.small import same
from tests.methods.federation import (
    WIDTH,
    Federated,
    agree,
    agree_scores,
    architecture,
    arrays,
    population,
)
from tests.reference import feddbe as reference
from tests.reference.headed import features, scores
from tests.reference.model import cross_entropy_of_logits

LR, ROUNDS = 0.3, 4
WORK = {
    "all": {"epochs": 2},
    "some, decay": {"steps": 3, "participation": 0.4, "milestones": (2,), "decay": 0.5},
}
HYPER = {"default": {}, "slow mean": {"kappa": 3.0, "momentum": 0.2}}


@pytest.mark.certifies("feddbe", "reference")
@pytest.mark.parametrize("work", WORK.values(), ids=WORK)
@pytest.mark.parametrize("hyper", HYPER.values(), ids=HYPER)
def test_feddbe(hyper, work):
    model = architecture("dnn")
    run = Federated(feddbe(lr=LR, **hyper), population(), {"dnn": model}, **work).run(ROUNDS)
    start, data = arrays(model.initial), run.data
    first = {k: run.batches(0, k, purpose="first", epochs=1) for k in data}
    goal = reference.consensus(start, data, first, LR)
    theirs = reference.feddbe(
        start,
        data,
        run.plan(ROUNDS),
        goal,
        run.participants(ROUNDS),
        run.rates(LR, ROUNDS),
        hyper.get("kappa", 1.0),
        hyper.get("momentum", 1.0),
    )
    for moment, other in zip(run.moments, theirs, strict=True):
        agree("feddbe", moment.state, {"parameters": other["global"], "centroids": goal})
        for k in data:
            assert bool(moment.own[k]) == (k in other["memory"])
            memory = other["memory"].get(k, np.zeros(len(goal)))
            if k in other["memory"]:
                agree("feddbe", moment.own[k], {"memory": memory})
            w, x, y = other["global"], data[k]["x_test"], data[k]["y_test"]
            z = scores(w, features(w, x) + memory)
            loss = cross_entropy_of_logits(z, y, np.full(len(y), 1 / len(y)))
            right = float(np.mean(z.argmax(axis=1) == y))
            agree_scores("feddbe", moment, k, "test", loss, right)


@pytest.mark.certifies("feddbe", "law")
@pytest.mark.parametrize("work", WORK.values(), ids=WORK)
def test_the_global_model_of_one_step_is_fedavg(work):
    """κ = 0, one step a round, everybody new: a memory that is still 0 changes no bit."""
    models = {"dnn": architecture("dnn")}
    one = {**work, "epochs": None, "steps": 1}
    runs = [
        Federated(make(name, hyper, {"lr": LR}), population(), models, **one).run(1)
        for name, hyper in (("feddbe", {"kappa": 0.0}), ("fedavg", {}))
    ]
    a, b = (run.moments[-1].state["parameters"] for run in runs)
    assert same(a, b)


def test_a_lost_introduction_is_left_out():
    """z̄^g is of those who sent, by their samples."""
    run = Federated(feddbe(lr=LR), population(), {"dnn": architecture("dnn")}, epochs=1).setup()
    told = {k: torch.from_numpy(v["centroids"]) for k, v in run.introductions.items()}
    replies = {k: Reply({"centroids": told[k]}, float(run.infos[k].samples)) for k in (1, 4)}
    after = run.method.setup_update(run.coordinator.state, replies, None)
    n = {k: run.infos[k].samples for k in replies}
    expected = sum(n[k] * told[k] for k in n) / sum(n.values())
    torch.testing.assert_close(after["centroids"], expected)


def test_a_head_without_a_bias_is_refused():
    layers = {"hidden": nn.Linear(WIDTH, 5), "relu": nn.ReLU(), "out": nn.Linear(5, 3, bias=False)}
    module = nn.Sequential(OrderedDict(layers)).double()
    model = with_head(from_module("bare", module), module, torch.ones(2, WIDTH).double())
    with pytest.raises(FedkinError, match="linear head with a bias: the head of bare is none"):
        Federated(feddbe(lr=LR), population(), {"bare": model})


@pytest.mark.parametrize("wrong", [{"kappa": -1.0}, {"momentum": 0.0}, {"momentum": 1.5}])
def test_out_of_range(wrong):
    with pytest.raises(FedkinError, match=r"method\.\w+ of feddbe: input should be"):
        feddbe(lr=0.1, **wrong)
