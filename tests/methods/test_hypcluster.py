"""HypCluster against its pseudo-code."""

import math

import numpy as np
import pytest
import torch

from fedkin.core.errors import FedkinError
from fedkin.core.optimizers import Optimizer
from fedkin.methods.hypcluster import hypcluster
from fedkin.methods.ifca import ifca
from fedkin.transforms.kept_optimizer import keep_optimizer
from tests.methods.federation import (
    agree,
    arrays,
    told_in,
)
from tests.methods.ifca_examples import (
    LR,
    ROUNDS,
    WORK,
    check_scores,
    draws,
    federated,
)
from tests.reference import ifca as reference
from tests.reference.model import mean_loss


@pytest.mark.certifies("hypcluster", "reference")
@pytest.mark.parametrize("work", WORK.values(), ids=WORK)
@pytest.mark.parametrize("kind", ["mlr", "dnn"])
@pytest.mark.parametrize(("starts", "trial"), [(1, 2), (2, 2), (3, 3), (2, ROUNDS + 1)])
def test_hypcluster(starts, trial, kind, work):
    models = draws(kind, 2 * starts)
    run = federated(hypcluster(lr=LR, clusters=2, starts=starts, trial=trial), kind, models, work)
    start = [[arrays(model.initial) for model in models[2 * s : 2 * s + 2]] for s in range(starts)]
    who, rates = run.participants(ROUNDS), run.rates(LR, ROUNDS)
    last = min(trial, ROUNDS)
    kept, theirs = reference.hypcluster(start, run.data, run.plan(ROUNDS), who, rates, last)
    known = {}
    for t, moment in enumerate(run.moments, 1):
        running = [kept] if t > last or starts == 1 else list(range(starts))
        stored = [kept] if trial <= t or starts == 1 else list(range(starts))
        for k in who[t - 1]:
            for s in running:
                other, name = theirs[s][t - 1], f"start{s}"
                agree("hypcluster", moment.up[k]["parameters"][name], other["uploads"][k])
                control = {"cluster": other["chosen"][k], "loss": other["losses"][k]}
                agree(
                    "hypcluster",
                    moment.up[k]["control"][name],
                    control if len(running) > 1 else {"cluster": other["chosen"][k]},
                )
            assert (
                set(moment.up[k]["parameters"])
                == set(moment.down[k]["parameters"])
                == {f"start{s}" for s in running}
            )
            known[k] = theirs[kept][t - 1]["chosen"][k]
        assert set(moment.state["parameters"]) == {f"start{s}" for s in stored}
        for s in stored:
            for j, model in enumerate(theirs[s][t - 1]["server"]["models"]):
                agree(
                    "hypcluster",
                    {n: v[j] for n, v in moment.state["parameters"][f"start{s}"].items()},
                    model,
                )
        assert moment.record.server_metrics["starts"] == {-1: len(stored)}
        assert moment.record.server_metrics.get("cluster") == (
            told_in(moment, known) if len(stored) == 1 else None
        )
        best = {}
        for k, client in run.data.items():
            found = [theirs[s][t - 1]["personal"][k] for s in stored]
            losses = [mean_loss(w, client["x"], client["y"]) for w in found]
            best[k] = found[int(np.argmin(losses))]
        check_scores("hypcluster", run, moment, best)


def test_another_start_than_the_first_may_win():
    """In the comparison above the choice is not always the first start."""
    run = federated(
        hypcluster(lr=LR, clusters=2, starts=3, trial=3), "dnn", draws("dnn", 6), {"epochs": 1}
    )
    assert "start0" not in run.moments[-1].state["parameters"]


def test_a_start_that_diverged_is_not_deployed():
    """During the trial a client deploys the best of all models that it received."""
    run = federated(
        hypcluster(lr=LR, clusters=2, starts=2, trial=9), "mlr", draws("mlr", 4), {"epochs": 1}
    )
    received = run.method.broadcast(run.coordinator.state, 1)
    data, sets = run.host.data(2, 1), received["parameters"]
    nothing = {name: torch.full_like(x, math.nan) for name, x in sets["start0"].items()}
    shown = run.method.personal_models({"parameters": {**sets, "start0": nothing}}, {}, data)
    assert all(x.isfinite().all() for x in shown["personal"].values())


def test_the_set_that_stays_goes_on_with_its_own_momentum():
    """After the trial clients send what they send where there was never another set."""
    work = {"epochs": 1, "optimizer": Optimizer(momentum=0.9)}
    models = draws("dnn", 6)
    method = keep_optimizer(hypcluster(lr=0.05, clusters=2, starts=3, trial=3))
    several = federated(method, "dnn", models, work)
    (stayed,) = several.moments[-1].state["parameters"]
    assert stayed != "start0"
    first = 2 * int(stayed.removeprefix("start"))
    own = models[first : first + 2]
    alone = federated(keep_optimizer(ifca(lr=0.05, clusters=2)), "dnn", own, work)
    for one, other in zip(several.moments, alone.moments, strict=True):
        for k in other.up:
            for name, value in other.up[k]["parameters"].items():
                agree("hypcluster", one.up[k]["parameters"][stayed][name], value)


@pytest.mark.parametrize("wrong", [{"clusters": 0}, {"starts": 0}, {"trial": 1}], ids=str)
def test_wrong_hypcluster(wrong):
    with pytest.raises(FedkinError):
        hypcluster(lr=0.1, **wrong)
