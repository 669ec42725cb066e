"""IFCA and HypCluster beside tests/reference/ifca.py."""

import numpy as np
import pytest

from fedkin.core.errors import FedkinError
from fedkin.methods.hypcluster import hypcluster
from fedkin.methods.ifca import ifca
from tests.methods.federation import (
    Federated,
    agree,
    agree_scores,
    architecture,
    arrays,
    population,
    told_in,
)
from tests.reference import ifca as reference
from tests.reference.model import accuracy, mean_loss

LR, ROUNDS, CLUSTERS = 0.3, 5, 3
WORK = {
    "epochs": {"epochs": 1},
    "some, decay": {
        "steps": 3,
        "participation": 0.6,
        "milestones": (1, 3),
        "decay": 0.5,
        "compile": "trace",
    },
}
SHARED = {"mlr": ["weight"], "dnn": ["hidden.weight", "hidden.bias"]}


def people():
    return population((5, 9, 4, 11, 7), seed=5, groups=3)


def draws(kind, count=CLUSTERS):
    return [architecture(kind, seed) for seed in range(1, count + 1)]


def federated(method, kind, models, work):
    return Federated(method, people(), {kind: models[0]}, draws=models, **work).run(ROUNDS)


def check_scores(name, run, moment, personal):
    for k, w in personal.items():
        x, y = run.data[k]["x_test"], run.data[k]["y_test"]
        agree_scores(name, moment, k, "test", mean_loss(w, x, y), accuracy(w, x, y))
        assert set(moment.record.scores[k]) == {"personal"}


@pytest.mark.certifies("ifca", "reference")
@pytest.mark.parametrize("work", WORK.values(), ids=WORK)
@pytest.mark.parametrize("kind", ["mlr", "dnn"])
@pytest.mark.parametrize("average", ["models", "gradients"])
@pytest.mark.parametrize("sharing", [False, True])
def test_ifca(sharing, average, kind, work):
    models, shared = draws(kind), SHARED[kind] if sharing else []
    prefix = {"mlr": "weight", "dnn": ["hidden."]}[kind] if sharing else ()
    method = ifca(lr=LR, clusters=CLUSTERS, average=average, shared=prefix)
    run = federated(method, kind, models, work)
    plan = run.plan(ROUNDS, steps=1) if average == "gradients" else run.plan(ROUNDS)
    who, rates = run.participants(ROUNDS), run.rates(LR, ROUNDS)
    start = [arrays(model.initial) for model in models]
    theirs = reference.ifca(start, run.data, plan, who, rates, average, shared)
    known = {}
    for moment, other in zip(run.moments, theirs, strict=True):
        stacked = moment.state["parameters"]
        for j, model in enumerate(other["server"]["models"]):
            agree("ifca", {n: v if n in shared else v[j] for n, v in stacked.items()}, model)
        for k, upload in other["uploads"].items():
            agree(
                "ifca",
                moment.up[k],
                {"parameters": upload, "control": {"cluster": other["chosen"][k]}},
            )
        known.update(other["chosen"])
        assert moment.record.lens["cluster"] == told_in(moment, known)
        assert moment.state["cluster"].tolist() == [known.get(k, -1) for k in run.infos]
        assert all(own == {} for own in moment.own.values())
        check_scores("ifca", run, moment, other["personal"])


def test_choices_differ_and_change_in_the_comparison():
    """It means something: several models are chosen in a round, and somebody changes."""
    run = federated(ifca(lr=LR, clusters=CLUSTERS), "mlr", draws("mlr"), {"epochs": 1})
    told = [tuple(moment.state["cluster"].tolist()) for moment in run.moments]
    assert len(set(told[0])) > 1
    assert len(set(told)) > 1


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
        assert moment.record.lens["starts"] == {-1: len(stored)}
        assert moment.record.lens.get("cluster") == (
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


@pytest.mark.parametrize("wrong", [{"clusters": 0}, {"average": "weights"}], ids=str)
def test_wrong_ifca(wrong):
    with pytest.raises(FedkinError):
        ifca(lr=0.1, **wrong)


@pytest.mark.parametrize("wrong", [{"clusters": 0}, {"starts": 0}, {"trial": 1}], ids=str)
def test_wrong_hypcluster(wrong):
    with pytest.raises(FedkinError):
        hypcluster(lr=0.1, **wrong)


def test_a_shared_layer_that_is_not_there():
    with pytest.raises(FedkinError, match=r"wieght.*did you mean 'weight'"):
        Federated(ifca(lr=0.1, shared="wieght"), people())
