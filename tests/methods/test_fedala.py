"""FedALA beside tests/reference/fedala.py."""

import numpy as np
import pytest

from fedkin.core.errors import FedkinError
from fedkin.methods import make
from fedkin.methods.fedala import fedala
from tests.laws.small import same
from tests.methods.federation import (
    Federated,
    agree,
    agree_scores,
    architecture,
    arrays,
    population,
)
from tests.reference import fedala as reference
from tests.reference.model import accuracy, mean_loss

LR, CELL_LR, ROUNDS = 0.3, 1.5, 5
LAYERS = {"last": ["out.weight", "out.bias"], "*weight": ["hidden.weight", "out.weight"]}
WORK = {
    "all": {"epochs": 1},
    "some, decay": {"steps": 3, "participation": 0.6, "milestones": (2,), "decay": 0.5},
}


def learned_on(run, share, first):
    """The batches on which each client learns its W, by round: a share of each pass, ``first``
    passes at its second participation.
    """
    taken, plan = dict.fromkeys(run.infos, 0), []
    for t, who in enumerate(run.participants(ROUNDS), 1):
        here = {}
        for k in who:
            whole = len(run.batches(t, k, purpose="cells", epochs=1))
            steps = max(1, round(share * whole)) * (first if taken[k] == 1 else 1)
            here[k] = run.batches(t, k, purpose="cells", steps=steps)
            taken[k] += 1
        plan.append(here)
    return plan


@pytest.mark.certifies("fedala", "reference")
@pytest.mark.parametrize("work", WORK.values(), ids=WORK)
@pytest.mark.parametrize("adaptive", LAYERS)
def test_fedala(adaptive, work):
    model = architecture("dnn")
    made = fedala(lr=LR, adaptive=adaptive, share=0.6, weight_lr=CELL_LR, first_epochs=3)
    run = Federated(made, population(), {"dnn": model}, **work).run(ROUNDS)
    theirs = reference.fedala(
        arrays(model.initial),
        run.data,
        run.plan(ROUNDS),
        run.participants(ROUNDS),
        LAYERS[adaptive],
        run.rates(LR, ROUNDS),
        learned_on(run, 0.6, 3),
        CELL_LR,
    )
    for moment, other in zip(run.moments, theirs, strict=True):
        agree("fedala", moment.state, {"parameters": other["model"]})
        for k in run.data:
            agree("fedala", moment.own[k]["parameters"], other["own"][k])
            agree("fedala", moment.own[k]["cells"], other["cells"][k])
            x, y = run.data[k]["x_test"], run.data[k]["y_test"]
            for view, w in (("personal", other["tested"][k]), ("global", other["model"])):
                loss, right = mean_loss(w, x, y), accuracy(w, x, y)
                agree_scores("fedala", moment, k, "test", loss, right, view)
    cells = np.concatenate([c.ravel() for c in theirs[-1]["cells"][0].values()])
    assert ((cells > 0) & (cells < 1)).any()  # or the test says nothing of what is learned
    assert ((cells == 0) | (cells == 1)).any()  # nor of the clip


@pytest.mark.certifies("fedala", "law")
@pytest.mark.parametrize("work", WORK.values(), ids=WORK)
def test_nothing_adaptive_is_fedavg(work):
    """The server's states are FedAvg's, to the bit."""
    both = [
        Federated(make(name, hyper, {"lr": LR}), population(), **work).run(ROUNDS, evaluate=False)
        for name, hyper in (("fedala", {"adaptive": ()}), ("fedavg", {}))
    ]
    for a, b in zip(both[0].moments, both[1].moments, strict=True):
        assert same(a.state, b.state)


@pytest.mark.parametrize("wrong", [{"share": 0.0}, {"weight_lr": 0.0}, {"first_epochs": 0}])
def test_out_of_range(wrong):
    with pytest.raises(FedkinError, match=r"method\.\w+ of fedala: input should be"):
        fedala(lr=0.1, **wrong)
