"""FedBABU beside tests/reference/fedbabu.py."""

import pytest

from fedkin.core.errors import FedkinError
from fedkin.methods import make
from fedkin.methods.fedbabu import fedbabu
from tests.methods.federation import (
    Federated,
    agree,
    agree_scores,
    architecture,
    arrays,
    population,
)
from tests.reference import fedbabu as reference
from tests.reference.model import accuracy, mean_loss

LR, ROUNDS = 0.3, 3
HEAD, BODY = ["out.weight", "out.bias"], ["hidden.weight", "hidden.bias"]
TUNED = {"full": [*BODY, *HEAD], "head": HEAD, "body": BODY}
WORK = {
    "epochs": {"epochs": 2},
    "some, decay": {"steps": 3, "participation": 0.4, "milestones": (1,), "decay": 0.5},
}


@pytest.mark.certifies("fedbabu", "reference")
@pytest.mark.parametrize("work", WORK.values(), ids=WORK)
@pytest.mark.parametrize("tune", TUNED)
def test_fedbabu(tune, work):
    model = architecture("dnn")
    made = fedbabu(lr=LR, epochs=2, tune=tune, personal_lr=0.2)
    run = Federated(made, population(), {"dnn": model}, **work).run(ROUNDS)
    last = {k: run.batches(ROUNDS + 1, k, purpose="finetune", epochs=2) for k in run.infos}
    theirs, tuned = reference.fedbabu(
        arrays(model.initial),
        run.data,
        run.plan(ROUNDS),
        run.participants(ROUNDS),
        HEAD,
        run.rates(LR, ROUNDS),
        last,
        TUNED[tune],
        run.rates(0.2, ROUNDS + 1)[-1],
    )
    for moment, other in zip(run.moments, theirs, strict=True):
        w = other["model"]
        agree("fedbabu", moment.state, {"parameters": {name: w[name] for name in BODY}})
        for k in run.data:
            views(run, moment, k, w, w)
    end = run.finish()
    for k, v in tuned.items():
        agree("fedbabu", end.own[k]["tuned"], v)
        views(run, end, k, v, w)


def views(run, moment, k, personal, common):
    x, y = run.data[k]["x_test"], run.data[k]["y_test"]
    for view, w in (("personal", personal), ("global", common)):
        agree_scores("fedbabu", moment, k, "test", mean_loss(w, x, y), accuracy(w, x, y), view)


@pytest.mark.parametrize("wrong", [{"epochs": 0}, {"personal_lr": 0.0}])
def test_out_of_range(wrong):
    with pytest.raises(FedkinError, match=r"method\.\w+ of fedbabu: input should be"):
        fedbabu(lr=0.1, **wrong)


@pytest.mark.parametrize("head", ["all", ()])
def test_a_head_that_is_no_part(head):
    made = make("fedbabu", {"head": head}, {"lr": LR})
    with pytest.raises(FedkinError, match="neither none nor all"):
        Federated(made, population(), {"dnn": architecture("dnn")})
