"""FedPAC beside tests/reference/fedpac.py."""

import numpy as np
import pytest

from fedkin.core.errors import FedkinError
from fedkin.methods.fedpac import fedpac
from tests.methods.federation import (
    Federated,
    agree,
    agree_scores,
    architecture,
    arrays,
    population,
)
from tests.methods.test_fedproto import table
from tests.reference import fedpac as reference
from tests.reference.model import accuracy, mean_loss

LR, ROUNDS = 0.3, 4
WORK = {
    "all": {"epochs": 1},
    "some, decay": {"steps": 3, "participation": 0.6, "milestones": (2,), "decay": 0.5},
}
HYPER = {"default": {}, "two passes": {"lam": 0.6, "head_epochs": 2, "personal_lr": 0.7}}


@pytest.mark.certifies("fedpac", "reference")
@pytest.mark.parametrize("work", WORK.values(), ids=WORK)
@pytest.mark.parametrize("hyper", HYPER.values(), ids=HYPER)
def test_fedpac(hyper, work):
    model = architecture("dnn")
    run = Federated(fedpac(lr=LR, **hyper), population(), {"dnn": model}, **work).run(ROUNDS)
    theirs = reference.fedpac(
        arrays(model.initial),
        run.data,
        run.plan(ROUNDS),
        run.plan(ROUNDS, purpose="head", epochs=hyper.get("head_epochs", 1)),
        run.participants(ROUNDS),
        run.rates(LR, ROUNDS),
        run.rates(hyper.get("personal_lr", LR), ROUNDS),
        hyper.get("lam", 1.0),
    )
    for moment, other in zip(run.moments, theirs, strict=True):
        agree("fedpac", moment.state["parameters"], other["body"])
        found = {name: moment.state[name] for name in ("centroids", "coefficients")}
        agree("fedpac", found, table(other["centroids"]))
        for k, head in other["heads"].items():
            agree("fedpac", moment.state["heads"][k] or moment.state["initial"], head)
            w, x, y = {**other["body"], **head}, run.data[k]["x_test"], run.data[k]["y_test"]
            agree_scores("fedpac", moment, k, "test", mean_loss(w, x, y), accuracy(w, x, y))
    shares = np.concatenate(list(theirs[-1]["alpha"].values()))
    assert ((shares > 0.01) & (shares < 0.99)).any()  # or nothing is mixed


@pytest.mark.parametrize("wrong", [{"lam": -1.0}, {"head_epochs": 0}, {"personal_lr": 0.0}])
def test_out_of_range(wrong):
    with pytest.raises(FedkinError, match="of fedpac: "):
        fedpac(lr=0.1, **wrong)
