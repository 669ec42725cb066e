"""Local training against plain SGD."""

import pytest

from fedkin.methods.local import local
from tests.methods.federation import (
    Federated,
    agree,
    agree_scores,
    architecture,
    arrays,
    population,
)
from tests.methods.local_fedavg_examples import WORK
from tests.reference import local_fedavg as reference
from tests.reference.model import accuracy, mean_loss

LR, ROUNDS = 0.3, 4


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
