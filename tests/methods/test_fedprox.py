"""FedProx beside tests/reference/fedprox.py."""

import pytest

from fedkin.core.errors import FedkinError
from fedkin.methods.fedprox import fedprox
from tests.methods.federation import (
    Federated,
    agree,
    agree_scores,
    architecture,
    arrays,
    population,
)
from tests.reference import fedprox as reference
from tests.reference.model import accuracy, mean_loss

pytestmark = pytest.mark.certifies("fedprox", "reference")
LR, ROUNDS = 0.3, 4
WORK = {
    "epochs": {"epochs": 2},
    "some, decay": {
        "steps": 3,
        "participation": 0.6,
        "milestones": (2, 3),
        "decay": 0.5,
        "compile": "trace",
    },
}


@pytest.mark.parametrize("work", WORK.values(), ids=WORK)
@pytest.mark.parametrize(("kind", "mu"), [("mlr", 0.8), ("dnn", 0.8), ("mlr", None)])
def test_fedprox(kind, mu, work):
    model = architecture(kind)
    method = fedprox(lr=LR) if mu is None else fedprox(lr=LR, mu=mu)
    run = Federated(method, population(), {kind: model}, **work).run(ROUNDS)
    start, who = arrays(model.initial), run.participants(ROUNDS)
    theirs = reference.fedprox(
        start, run.data, run.plan(ROUNDS), who, run.rates(LR, ROUNDS), mu or 0.01
    )
    for moment, other in zip(run.moments, theirs, strict=True):
        w = other["server"]["model"]
        agree("fedprox", moment.state, {"parameters": w})
        agree(
            "fedprox",
            moment.up,
            {k: {"parameters": upload} for k, upload in other["uploads"].items()},
        )
        for k in run.data:
            x, y = run.data[k]["x_test"], run.data[k]["y_test"]
            for view in ("personal", "global"):
                agree_scores(
                    "fedprox", moment, k, "test", mean_loss(w, x, y), accuracy(w, x, y), view
                )


def test_mu_below_0_is_refused():
    with pytest.raises(FedkinError, match="mu"):
        fedprox(lr=0.1, mu=-0.1)
