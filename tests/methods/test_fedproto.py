"""FedProto beside tests/reference/fedproto.py."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from fedkin.core.errors import FedkinError
from fedkin.core.method import FederationInit
from fedkin.methods import make
from fedkin.methods.fedproto import fedproto
from tests.laws.small import same
from tests.methods.federation import (
    CLASSES,
    HIDDEN,
    Federated,
    agree,
    agree_scores,
    architecture,
    arrays,
    population,
)
from tests.reference import fedproto as reference
from tests.reference.model import accuracy, mean_loss

LR, LAM, ROUNDS = 0.3, 0.7, 4
WORK = {
    "all": {"epochs": 1},
    "some, decay": {"steps": 3, "participation": 0.4, "milestones": (2,), "decay": 0.5},
}


def table(centroids):
    """Rows of the classes that have a prototype; zeros for the others, and which they are."""
    rows, known = np.zeros((CLASSES, HIDDEN)), np.zeros(CLASSES)
    for j, row in centroids.items():
        rows[j], known[j] = row, 1.0
    return {"centroids": rows, "coefficients": known}


@pytest.mark.certifies("fedproto", "reference")
@pytest.mark.parametrize("work", WORK.values(), ids=WORK)
@pytest.mark.parametrize("count", ["samples", "clients"])
def test_fedproto(count, work):
    """Two architectures of one width; one class is with few clients."""
    models = {name: architecture("dnn", seed)._replace(name=name) for name, seed in NETS.items()}
    held = ["large", "small", "small", "large", "small"]
    made = fedproto(lr=LR, lam=LAM, count=count)
    run = Federated(made, rare(), models, architectures=held, **work).run(ROUNDS)
    theirs = reference.fedproto(
        {k: arrays(models[name].initial) for k, name in enumerate(held)},
        run.data,
        run.plan(ROUNDS),
        run.participants(ROUNDS),
        run.rates(LR, ROUNDS),
        LAM,
        count,
    )
    for moment, other in zip(run.moments, theirs, strict=True):
        agree("fedproto", moment.state, table(other["centroids"]))
        for k, w in other["own"].items():
            agree("fedproto", moment.own[k], {"parameters": w})
            x, y = run.data[k]["x_test"], run.data[k]["y_test"]
            told = reference.log_predictions(w, other["centroids"], x, CLASSES)
            loss = -float(np.mean([row[label] for row, label in zip(told, y, strict=True)]))
            right = float(np.mean(told.argmax(1) == y))
            agree_scores("fedproto", moment, k, "test", loss, right)


NETS = {"large": 1, "small": 6}


def rare():
    """Class 2 is with clients 1 and 3 alone: who is left has another label in its place."""
    people = population()
    y = people.y.clone()
    for k in (0, 2, 4):
        rows = torch.from_numpy(people.train[k])
        y[rows] = torch.where(y[rows] == 2, rows.to(y.dtype) % 2, y[rows])
    return replace(people, y=y)


@pytest.mark.certifies("fedproto", "law")
@pytest.mark.parametrize("work", WORK.values(), ids=WORK)
def test_without_a_pull_it_is_local_training(work):
    """λ = 0 and the head's predictions: each client's model is local's, to the bit."""
    hypers = {"fedproto": {"lam": 0.0, "predictor": "head"}, "local": {}}
    model = {"dnn": architecture("dnn")}
    runs = [
        Federated(make(name, hyper, {"lr": LR}), population(), model, **work).run(ROUNDS)
        for name, hyper in hypers.items()
    ]
    for a, b in zip(runs[0].moments, runs[1].moments, strict=True):
        assert all(same(a.own[k]["parameters"], b.own[k]["parameters"]) for k in a.own)


def test_the_head_predicts_where_told():
    model = architecture("dnn")
    run = Federated(fedproto(lr=LR, predictor="head"), population(), {"dnn": model}, epochs=1)
    moment = run.run(2).moments[-1]
    for k, own in moment.own.items():
        x, y = run.data[k]["x_test"], run.data[k]["y_test"]
        w = own["parameters"]
        agree_scores("fedproto", moment, k, "test", mean_loss(w, x, y), accuracy(w, x, y))


def test_features_of_two_widths_are_refused():
    head = architecture("dnn").head
    heads = {"a": head, "b": head._replace(size=9)}
    start = FederationInit({}, (0,), 0, 3, lambda k: {}, heads=heads)
    with pytest.raises(FedkinError, match=r"equally many: a 5, b 9; choose layers of one width"):
        fedproto(lr=0.1).check(start, 1)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"lam": -1.0}, r"method\.lam of fedproto: input should be greater than or equal to 0"),
        ({"count": "sample"}, r"of fedproto: .*not \'sample\'"),
        ({"predictor": "heads"}, r"of fedproto: .*not \'heads\'"),
    ],
)
def test_out_of_range(wrong, said):
    with pytest.raises(FedkinError, match=said):
        fedproto(lr=0.1, **wrong)
