"""FedAvg against its pseudo-code."""

import pytest

from fedkin.methods.fedavg import fedavg
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
