"""kNN-Per beside tests/reference/knn_per.py."""

from dataclasses import replace

import pytest
import torch

from fedkin.core.errors import FedkinError
from fedkin.methods import make
from fedkin.methods.knn_per import knn_per, neighbours
from tests.laws.small import same
from tests.methods.federation import (
    Federated,
    agree,
    agree_scores,
    architecture,
    arrays,
    population,
)
from tests.reference import knn_per as reference
from tests.reference.local_fedavg import fedavg
from tests.reference.model import accuracy, mean_loss

LR, ROUNDS = 0.3, 3
WORK = {
    "all": {"epochs": 1},
    "some, decay": {"steps": 3, "participation": 0.4, "milestones": (2,), "decay": 0.5},
}
HYPER = {"default": {}, "few": {"k": 3, "scale": 0.4}}  # a client has 4 to 11 samples


@pytest.mark.certifies("knn_per", "reference")
@pytest.mark.parametrize("work", WORK.values(), ids=WORK)
@pytest.mark.parametrize("hyper", HYPER.values(), ids=HYPER)
def test_knn_per(hyper, work):
    model = architecture("dnn")
    run = Federated(knn_per(lr=LR, **hyper), population(), {"dnn": model}, **work).run(ROUNDS)
    rates, who = run.rates(LR, ROUNDS), run.participants(ROUNDS)
    theirs = fedavg(arrays(model.initial), run.data, run.plan(ROUNDS), who, rates)
    for moment, other in zip(run.moments, theirs, strict=True):
        w = other["server"]["model"]
        agree("knn_per", moment.state, {"parameters": w})
        for k in run.data:
            x, y = run.data[k]["x_test"], run.data[k]["y_test"]
            for view in ("personal", "global"):
                loss, right = mean_loss(w, x, y), accuracy(w, x, y)
                agree_scores("knn_per", moment, k, "test", loss, right, view)
    end, found = run.finish(), []
    how = {"k": hyper.get("k", 10), "scale": hyper.get("scale", 1.0)}
    for k, client in run.data.items():
        share = reference.share_of(w, client, **how)
        assert end.own[k]["share"] == share
        agree("knn_per", end.own[k]["features"], reference.features(w, client["x"]))
        told = reference.mixed(w, client, client["x_test"], share=share, **how)
        loss, right = reference.loss_and_right(told, client["y_test"])
        agree_scores("knn_per", end, k, "test", loss, right)
        found.append(share)
    assert any(0 < share < 1 for share in found)  # or the mixture is never seen


@pytest.mark.certifies("knn_per", "law")
@pytest.mark.parametrize("work", WORK.values(), ids=WORK)
def test_the_server_is_fedavg(work):
    """The server's states are FedAvg's, to the bit."""
    model = {"dnn": architecture("dnn")}
    both = [
        Federated(make(name, {}, {"lr": LR}), population(), model, **work).run(ROUNDS)
        for name in ("knn_per", "fedavg")
    ]
    for a, b in zip(both[0].moments, both[1].moments, strict=True):
        assert same(a.state, b.state)


@pytest.mark.certifies("knn_per", "law")
def test_what_is_remembered_is_recognised():
    """One neighbour, and the samples themselves: each is its own nearest, whatever h says."""
    model = architecture("dnn")
    x = torch.randn(7, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(3))
    y = torch.tensor([2, 0, 1, 1, 0, 2, 1])
    w = {name: value + 0.3 for name, value in model.initial.items()}  # no dead features
    store = {"features": model.head.features(w, x), "labels": y, "k": 1, "scale": 1.0}
    told = neighbours(model, {"parameters": w, **store}, x, 3)
    assert told.argmax(1).tolist() == y.tolist()
    assert told.sum(1).tolist() == pytest.approx([1.0] * 7)


@pytest.mark.certifies("knn_per", "law")
def test_test_samples_choose_nothing():
    """λ_i is what it was where every test label is another."""
    ends = []
    for shift in (0, 1):
        people = population()
        y = people.y.clone()
        for rows in people.test:
            y[torch.from_numpy(rows)] = (y[torch.from_numpy(rows)] + shift) % people.classes
        model = {"dnn": architecture("dnn")}
        run = Federated(knn_per(lr=LR), replace(people, y=y), model, epochs=1).run(2)
        ends.append(run.finish().own)
    assert same(*ends)


@pytest.mark.parametrize("wrong", [{"k": 0}, {"scale": 0.0}])
def test_out_of_range(wrong):
    with pytest.raises(FedkinError, match=r"method\.\w+ of knn_per: input should be"):
        knn_per(lr=0.1, **wrong)
