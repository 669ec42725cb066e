"""FedAvg-FT beside tests/reference/finetune.py."""

import pytest

from fedkin import Experiment
from fedkin import run as run_it
from fedkin.core.errors import FedkinError
from fedkin.core.family import GAUSSIAN
from fedkin.methods import make
from fedkin.methods.finetune import finetune
from tests.methods.federation import (
    Federated,
    agree,
    agree_scores,
    architecture,
    arrays,
    population,
)
from tests.reference import finetune as reference
from tests.reference.local_fedavg import train
from tests.reference.model import accuracy, mean_loss

pytestmark = pytest.mark.certifies("finetune", "reference")
LR, ROUNDS = 0.3, 4
WORK = {
    "epochs": {"epochs": 2},
    "some, decay": {
        "steps": 3,
        "participation": 0.4,
        "milestones": (2, 4),
        "decay": 0.5,
        "compile": "trace",
    },
}
HYPER = {"default": {}, "own rate": {"epochs": 2, "personal_lr": 0.7}}


@pytest.mark.parametrize("work", WORK.values(), ids=WORK)
@pytest.mark.parametrize("hyper", HYPER.values(), ids=HYPER)
@pytest.mark.parametrize("kind", ["mlr", "dnn"])
def test_finetune(kind, hyper, work):
    model = architecture(kind)
    run = Federated(finetune(lr=LR, **hyper), population(), {kind: model}, **work).run(ROUNDS)
    last = {
        k: run.batches(ROUNDS + 1, k, purpose="finetune", epochs=hyper.get("epochs", 5))
        for k in run.infos
    }
    theirs, tuned = reference.finetune(
        arrays(model.initial),
        run.data,
        run.plan(ROUNDS),
        run.participants(ROUNDS),
        run.rates(LR, ROUNDS),
        last,
        run.rates(hyper.get("personal_lr", LR), ROUNDS + 1)[-1],
    )
    for moment, other in zip(run.moments, theirs, strict=True):
        w = other["server"]["model"]
        agree("finetune", moment.state, {"parameters": w})
        assert all(own == {} for own in moment.own.values())
        check_views(run, moment, dict.fromkeys(run.infos, w), w)
    end = run.finish()
    agree("finetune", end.own, {k: {"parameters": v} for k, v in tuned.items()})
    agree("finetune", end.state, {"parameters": w})
    check_views(run, end, tuned, w)


@pytest.mark.parametrize("work", WORK.values(), ids=WORK)
def test_the_best_epoch_by_validation(work):
    sizes = (13, 3, 8, 5, 21, 2)
    model = architecture("dnn")
    own = population(sizes, seed=2, val=9)
    tuned = finetune(lr=LR, epochs=6, keep="best", personal_lr=0.9)
    run = Federated(tuned, own, {"dnn": model}, **work).run(ROUNDS)
    end = run.finish()
    w, rate = run.moments[-1].state["parameters"], run.rates(0.9, ROUNDS + 1)[-1]
    theirs = {}
    for k in run.infos:
        epochs = [run.batches(ROUNDS + 1, k, purpose=f"finetune {e}", epochs=1) for e in range(6)]
        theirs[k] = reference.best_epoch(w, run.data[k], epochs, rate)
    assert len({epoch for _, epoch in theirs.values()}) > 2  # clients stop at different epochs
    for k, (parameters, epoch) in theirs.items():
        agree("finetune", {"parameters": end.own[k]["parameters"]}, {"parameters": parameters})
        assert end.own[k]["epochs"] == epoch
        assert tuned.client_metrics(end.own[k]) == {"tuned_epochs": epoch}
    check_views(run, end, {k: v for k, (v, _) in theirs.items()}, w)


def test_a_client_without_validation_rows_keeps_the_last_model():
    model = architecture("mlr")
    ends = {}
    for keep in ("last", "best"):
        method = finetune(lr=LR, epochs=1, keep=keep)
        run = Federated(method, population((7, 4), val=0), {"mlr": model}).run(1)
        ends[keep] = run, run.finish()
    run, end = ends["best"]
    for k in run.infos:
        (batches,) = [run.batches(2, k, purpose="finetune 0", epochs=1)]
        w = run.moments[-1].state["parameters"]
        last = train(w, run.data[k], batches, LR)
        agree("finetune", {"parameters": end.own[k]["parameters"]}, {"parameters": last})
        assert end.own[k]["epochs"] == 1


def test_of_numbers_the_lowest_loss_is_kept():
    own = population((9, 4, 6), family="gaussian", val=5)
    model = architecture("glm", family=GAUSSIAN)
    run = Federated(finetune(lr=0.01, epochs=4, keep="best", personal_lr=0.4), own, {"glm": model})
    end = run.run(2).finish()
    for k in run.infos:
        scores = end.record.scores[k]
        assert scores["personal"]["val"][0] <= scores["global"]["val"][0]
    assert {v["epochs"] for v in end.own.values()} - {4}  # some stop before the end


def test_the_experiments_measure_chooses_the_epoch(tmp_path):
    keys = {"clients": 20, "split": "iid", "rounds": 2, "engine": "inprocess"}
    keys |= {"method.keep": "best", "method.epochs": 12, "method.personal_lr": 0.3}
    losses = {}
    for measure in ("log_loss", "accuracy"):
        asked = Experiment("finetune", data="digits", measure=measure, **keys)
        scores = run_it(asked, tmp_path / measure).metrics.query(
            "split == 'val' and view == 'personal'"
        )
        last = scores[scores["round"] == scores["round"].max()]
        losses[measure] = last.sort_values("client")["loss"].to_numpy()
    assert (losses["log_loss"] <= losses["accuracy"]).all()
    assert (losses["log_loss"] < losses["accuracy"]).any(), "as many right answers, or more of them"


def check_views(run, moment, personal, w):
    for k, v in personal.items():
        x, y = run.data[k]["x_test"], run.data[k]["y_test"]
        agree_scores("finetune", moment, k, "test", mean_loss(v, x, y), accuracy(v, x, y))
        agree_scores("finetune", moment, k, "test", mean_loss(w, x, y), accuracy(w, x, y), "global")


@pytest.mark.parametrize("wrong", [{"epochs": 0}, {"personal_lr": 0.0}])
def test_what_is_refused(wrong):
    with pytest.raises(FedkinError, match=r"method\.\w+ of finetune: input should be"):
        finetune(lr=0.1, **wrong)


@pytest.mark.parametrize("name", ["FedAvg-FT", "fedavg_ft", "finetune"])
def test_its_names(name):
    assert make(name, {"epochs": 3}, {"lr": 0.1}).hyper == {
        "lr": 0.1,
        "epochs": 3,
        "personal_lr": None,
        "keep": "last",
        "weights": "samples",
    }
