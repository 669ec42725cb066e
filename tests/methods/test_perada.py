"""PerAda beside tests/reference/perada.py, its reductions, and adapters alone."""

import numpy as np
import pytest
import torch

from fedkin.core.errors import FedkinError
from fedkin.experiment.run import run as run_experiment
from fedkin.methods.ditto import ditto
from fedkin.methods.feddf import feddf
from fedkin.methods.perada import perada
from fedkin.runs.database import read_only
from fedkin.setup.loaded_run import load
from tests.engine.small import small
from tests.methods.federation import agree, agree_scores, arrays
from tests.methods.public_sets import BATCH, LR, ROUNDS, drawn_by_server, federation
from tests.reference import perada as reference
from tests.reference.model import accuracy, mean_loss

WORK = {
    "all": {"steps": 3, "compile": "trace"},
    "some, decay": {"epochs": 1, "milestones": (1, 3), "decay": 0.3, "participation": 0.6},
}
HYPER = {
    "default": {},
    "own steps": {"lam": 0.3, "personal_lr": 0.1, "personal_steps": 5, "weights": "samples"},
}
STEPS, RATE = 4, 0.4
DISTILLED = {"distill_steps": STEPS, "distill_lr": RATE, "public_batch": BATCH}


@pytest.mark.certifies("perada", "reference")
@pytest.mark.parametrize("work", WORK.values(), ids=WORK)
@pytest.mark.parametrize("hyper", HYPER.values(), ids=HYPER)
@pytest.mark.parametrize("kind", ["mlr", "dnn"])
def test_perada(kind, hyper, work):
    run = federation(perada(lr=LR, **DISTILLED, **hyper), (kind,), **work)
    theirs = reference.perada(
        arrays(run.models[kind].initial),
        run.data,
        run.people.public.numpy(),
        run.plan(ROUNDS),
        run.plan(ROUNDS, steps=hyper.get("personal_steps")),
        [drawn_by_server(run, t, BATCH, STEPS, "distill") for t in range(1, ROUNDS + 1)],
        run.participants(ROUNDS),
        run.rates(LR, ROUNDS),
        run.rates(hyper.get("personal_lr", LR), ROUNDS),
        run.rates(RATE, ROUNDS),
        hyper.get("lam", 1.0),
        hyper.get("weights") == "samples",
    )
    for moment, other in zip(run.moments, theirs, strict=True):
        w = other["server"]
        agree("perada", moment.state["parameters"], {kind: w})
        agree("perada", moment.up, {k: {"parameters": up} for k, up in other["uploads"].items()})
        for k, v in other["personal"].items():
            agree("perada", moment.own[k], {"parameters": v})
            x, y = run.data[k]["x_test"], run.data[k]["y_test"]
            for model, view in ((v, "personal"), (w, "global")):
                loss, right = mean_loss(model, x, y), accuracy(model, x, y)
                agree_scores("perada", moment, k, "test", loss, right, view)


def equal(ours, theirs):
    for one, other in zip(arrays(ours).items(), arrays(theirs).items(), strict=True):
        assert one[0] == other[0]
        assert np.array_equal(one[1], other[1])


WHOLE = {"steps": 3, "participation": 0.6}


@pytest.mark.certifies("perada", "law")
def test_without_distillation_it_is_ditto():
    """0 distillation steps: Ditto's personal and global models, bit by bit."""
    hyper = {"lam": 0.7, "weights": "uniform"}
    ours = federation(perada(lr=LR, distill_steps=0, **hyper), ("dnn",), **WHOLE)
    theirs = federation(ditto(lr=LR, **hyper), ("dnn",), **WHOLE)
    for one, other in zip(ours.moments, theirs.moments, strict=True):
        equal(one.state["parameters"]["dnn"], other.state["parameters"])
        for k, own in one.own.items():
            equal(own["parameters"], other.own[k]["parameters"])


@pytest.mark.certifies("perada", "law")
def test_its_global_adapter_is_that_of_feddf():
    """Whatever λ is: the server hears nothing of personal adapters."""
    ours = federation(perada(lr=LR, lam=3.0, **DISTILLED), ("dnn",), **WHOLE)
    theirs = federation(feddf(lr=LR, weights="uniform", **DISTILLED), ("dnn",), **WHOLE)
    for one, other in zip(ours.moments, theirs.moments, strict=True):
        equal(one.state["parameters"]["dnn"], other.state["parameters"]["dnn"])


@pytest.mark.certifies("perada", "closed form")
def test_a_strong_pull_ends_at_the_adapter_received():
    """lr · λ = 1: a step of v is w − lr ∇f(v), wherever v was."""
    run = federation(perada(lr=0.5, lam=2.0, personal_steps=1, distill_steps=0), ("mlr",), steps=1)
    before = {k: arrays(run.models["mlr"].initial) for k in run.data}
    received = arrays(run.models["mlr"].initial)
    for t, moment in enumerate(run.moments):
        for k, own in moment.own.items():
            (batch,) = run.plan(ROUNDS)[t][k]
            slope = reference.batch_gradient(before[k], run.data[k], batch)
            for name, value in arrays(own["parameters"]).items():
                np.testing.assert_allclose(value, received[name] - 0.5 * slope[name], atol=1e-12)
            before[k] = arrays(own["parameters"])
        received = arrays(moment.state["parameters"]["mlr"])


def test_adapters_alone_are_trained_and_sent(tmp_path):
    model = {"model__name": "dnn_adapter", "model__hidden": 6, "model__adapter": 2}
    spec = small("perada", **model, model__frozen=["body."])
    folder = run_experiment(spec, tmp_path / "run")
    adapters = 6 * 2 + 2 + 2 * 6 + 6 + 6 * 10 + 10
    with read_only(folder) as database:
        assert database.rows("SELECT DISTINCT parameters FROM messages") == [(adapters,)]
    loaded = load(folder)
    (ours,) = loaded.parts.models.values()
    assert set(ours.frozen) == {"body.weight", "body.bias"}
    w = loaded.coordinator.state["parameters"]["dnn_adapter"]
    assert set(w) == set(ours.initial)
    assert not torch.equal(w["adapter.up.weight"], ours.initial["adapter.up.weight"])


@pytest.mark.parametrize("wrong", [{"lam": -1.0}, {"distill_steps": -1}, {"personal_lr": 0.0}])
def test_what_is_refused(wrong):
    with pytest.raises(FedkinError, match=r"method\.\w+ of perada: input should be"):
        perada(lr=LR, **wrong)
