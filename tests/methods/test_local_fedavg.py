"""local and FedAvg beside tests/reference/local_fedavg.py."""

import pytest

from fedkin.methods.fedavg import fedavg
from fedkin.methods.local import local
from tests.methods.federation import (
    Federated,
    agree,
    agree_scores,
    architecture,
    arrays,
    population,
)
from tests.reference import local_fedavg as reference
from tests.reference.model import accuracy, mean_loss

LR, ROUNDS = 0.3, 4
WORK = {
    "epochs": {"epochs": 2},
    "some": {"steps": 3, "participation": 0.6},
    "decay": {
        "epochs": 1,
        "participation": 0.6,
        "milestones": (2, 3),
        "decay": 0.5,
        "compile": "trace",
    },
}


@pytest.mark.certifies("local", "reference")
@pytest.mark.parametrize("work", WORK.values(), ids=WORK)
@pytest.mark.parametrize("kind", ["mlr", "dnn"])
def test_local(kind, work):
    model = architecture(kind)
    run = Federated(local(lr=LR), population(), {kind: model}, **work).run(ROUNDS)
    who = run.participants(ROUNDS)
    theirs = reference.local(
        arrays(model.initial), run.data, run.plan(ROUNDS), who, run.rates(LR, ROUNDS)
    )
    for moment, other in zip(run.moments, theirs, strict=True):
        for k, w in other["personal"].items():
            agree("local", moment.own[k]["parameters"], w)
            for split in ("val", "test"):
                x, y = run.data[k][f"x_{split}"], run.data[k][f"y_{split}"]
                agree_scores("local", moment, k, split, mean_loss(w, x, y), accuracy(w, x, y))


@pytest.mark.certifies("fedavg", "reference")
@pytest.mark.parametrize("work", WORK.values(), ids=WORK)
@pytest.mark.parametrize("kind", ["mlr", "dnn"])
def test_fedavg(kind, work):
    model = architecture(kind)
    run = Federated(fedavg(lr=LR), population(), {kind: model}, **work).run(ROUNDS)
    who = run.participants(ROUNDS)
    theirs = reference.fedavg(
        arrays(model.initial), run.data, run.plan(ROUNDS), who, run.rates(LR, ROUNDS)
    )
    before = arrays(model.initial)
    for moment, other, active in zip(run.moments, theirs, who, strict=True):
        w = other["server"]["model"]
        agree("fedavg", moment.state, {"parameters": w})
        agree(
            "fedavg",
            moment.up,
            {k: {"parameters": upload} for k, upload in other["uploads"].items()},
        )
        agree("fedavg", moment.down, {k: {"parameters": before} for k in active})
        assert all(own == {} for own in moment.own.values())
        for k in run.data:
            x, y = run.data[k]["x_test"], run.data[k]["y_test"]
            for view in ("personal", "global"):
                agree_scores(
                    "fedavg", moment, k, "test", mean_loss(w, x, y), accuracy(w, x, y), view
                )
        before = w


@pytest.mark.certifies("local", "reference")
def test_more_steps_than_one_block_of_batches():
    """Batches are gathered 64 at a time: 70 steps are two blocks."""
    run = Federated(local(lr=0.05), population((5, 9)), {"mlr": architecture()}, steps=70).run(1)
    assert next(iter(run.host.data(1, 0).batches().blocks())).x.shape[0] < 70
    start = arrays(run.models["mlr"].initial)
    theirs = reference.local(start, run.data, run.plan(1), run.participants(1), [0.05])
    agree(
        "local",
        {k: own["parameters"] for k, own in run.moments[0].own.items()},
        theirs[0]["personal"],
    )
