"""FedAvg-FT beside tests/reference/finetune.py."""

import pytest

from fedkin.core.errors import FedkinError
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
        "weights": "samples",
    }
