"""FedTGP beside tests/reference/fedtgp.py."""

import numpy as np
import pytest

from fedkin.core.errors import FedkinError
from fedkin.core.rng import Key
from fedkin.methods import make
from fedkin.methods.fedtgp import fedtgp
from tests.laws.small import same
from tests.methods.federation import (
    SEED,
    Federated,
    agree,
    agree_scores,
    architecture,
    arrays,
    population,
)
from tests.methods.test_fedproto import NETS, rare
from tests.reference import fedtgp as reference
from tests.reference.fedproto import log_predictions

LR, ROUNDS, CLASSES = 0.3, 4, 3
WORK = {
    "all": {"epochs": 1},
    "some, decay": {"steps": 3, "participation": 0.4, "milestones": (2,), "decay": 0.5},
}
HYPER = {
    "far": {"lam": 0.7, "margin": 100.0, "server_epochs": 3, "server_lr": 0.1, "server_batch": 4},
    "near": {"lam": 0.3, "margin": 0.2, "server_epochs": 2, "server_lr": 0.3, "server_batch": 99},
}


@pytest.mark.certifies("fedtgp", "reference")
@pytest.mark.parametrize("work", WORK.values(), ids=WORK)
@pytest.mark.parametrize("hyper", HYPER.values(), ids=HYPER)
def test_fedtgp(hyper, work):
    """Two architectures of one width; one class is with few clients."""
    models = {name: architecture("dnn", seed)._replace(name=name) for name, seed in NETS.items()}
    held = ["large", "small", "small", "large", "small"]
    run = Federated(fedtgp(lr=LR, **hyper), rare(), models, architectures=held, **work).setup()
    first = arrays(run.coordinator.state["generator"])
    run.run(ROUNDS)
    theirs = reference.fedtgp(
        {k: arrays(models[name].initial) for k, name in enumerate(held)},
        first,
        run.data,
        run.plan(ROUNDS),
        [Key(SEED, t).numpy("prototypes") for t in range(1, ROUNDS + 1)],
        run.participants(ROUNDS),
        run.rates(LR, ROUNDS),
        hyper["lam"],
        hyper["margin"],
        hyper["server_epochs"],
        hyper["server_lr"],
        hyper["server_batch"],
    )
    for moment, other in zip(run.moments, theirs, strict=True):
        agree("fedtgp", moment.state["generator"], other["generator"])
        known = [float(c in other["centroids"]) for c in range(CLASSES)]
        assert moment.state["coefficients"].tolist() == known
        for c, row in other["centroids"].items():
            agree("fedtgp", moment.state["centroids"][c], row)
        for k, w in other["own"].items():
            agree("fedtgp", moment.own[k], {"parameters": w})
            x, y = run.data[k]["x_test"], run.data[k]["y_test"]
            told = log_predictions(w, other["centroids"], x, CLASSES)
            loss = -float(np.mean([row[label] for row, label in zip(told, y, strict=True)]))
            right = float(np.mean(told.argmax(1) == y))
            agree_scores("fedtgp", moment, k, "test", loss, right)


@pytest.mark.certifies("fedtgp", "law")
@pytest.mark.parametrize("work", WORK.values(), ids=WORK)
def test_without_a_pull_it_is_local_training(work):
    """λ = 0: each client's model is local's, to the bit."""
    models = {"dnn": architecture("dnn")}
    hypers = {"fedtgp": {"lam": 0.0, "server_epochs": 1}, "local": {}}
    runs = [
        Federated(make(name, hyper, {"lr": LR}), population(), models, **work).run(ROUNDS)
        for name, hyper in hypers.items()
    ]
    for a, b in zip(runs[0].moments, runs[1].moments, strict=True):
        assert all(same(a.own[k]["parameters"], b.own[k]["parameters"]) for k in a.own)


@pytest.mark.parametrize(
    "wrong", [{"lam": -1.0}, {"margin": -0.1}, {"server_epochs": 0}, {"server_lr": 0.0}]
)
def test_out_of_range(wrong):
    with pytest.raises(FedkinError, match=r"method\.\w+ of fedtgp: input should be"):
        fedtgp(lr=0.1, **wrong)
