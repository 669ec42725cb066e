"""Fed-RoD beside tests/reference/fedrod.py."""

import pytest
import torch

from fedkin.core.errors import FedkinError
from fedkin.core.family import BERNOULLI, CATEGORICAL
from fedkin.core.method import FederationInit
from fedkin.core.model import Batch, from_module
from fedkin.core.ops import gradient
from fedkin.methods import make
from fedkin.methods.fedrod import balanced, fedrod
from tests.laws.small import close, same
from tests.methods.federation import (
    Federated,
    agree,
    agree_scores,
    architecture,
    arrays,
    population,
)
from tests.reference import fedrod as reference
from tests.reference.model import accuracy, mean_loss

LR, ROUNDS = 0.3, 4
WORK = {
    "all": {"epochs": 1},
    "some, decay": {"steps": 3, "participation": 0.4, "milestones": (2,), "decay": 0.5},
}
HYPER = {
    "paper": {"gamma": 1.0},
    "own rate": {"gamma": 0.5, "personal_lr": 0.7, "weights": "uniform"},
}


@pytest.mark.certifies("fedrod", "reference")
@pytest.mark.parametrize("work", WORK.values(), ids=WORK)
@pytest.mark.parametrize("hyper", HYPER.values(), ids=HYPER)
def test_fedrod(hyper, work):
    """Clients that lack a class are among them."""
    model = architecture("dnn")
    run = Federated(fedrod(lr=LR, **hyper), population(), {"dnn": model}, **work).run(ROUNDS)
    assert any(float(info.histogram.min()) == 0 for info in run.infos.values())
    theirs = reference.fedrod(
        arrays(model.initial),
        run.data,
        run.plan(ROUNDS),
        run.participants(ROUNDS),
        run.rates(LR, ROUNDS),
        run.rates(hyper.get("personal_lr", LR), ROUNDS),
        hyper["gamma"],
        hyper.get("weights") != "uniform",
    )
    for moment, other in zip(run.moments, theirs, strict=True):
        agree("fedrod", moment.state, {"parameters": other["model"]})
        for k, phi in other["heads"].items():
            agree("fedrod", moment.own[k].get("head", phi), phi)
            mine = reference.personal(other["model"], phi)
            x, y = run.data[k]["x_test"], run.data[k]["y_test"]
            for view, w in (("personal", mine), ("global", other["model"])):
                loss, right = mean_loss(w, x, y), accuracy(w, x, y)
                agree_scores("fedrod", moment, k, "test", loss, right, view)


@pytest.mark.certifies("fedrod", "law")
@pytest.mark.parametrize("work", WORK.values(), ids=WORK)
def test_without_balance_the_server_is_fedavg(work):
    """γ = 0: the server's states are FedAvg's, to the bit."""
    model = {"dnn": architecture("dnn")}
    both = [
        Federated(make(name, hyper, {"lr": LR}), population(), model, **work).run(ROUNDS)
        for name, hyper in (("fedrod", {"gamma": 0.0}), ("fedavg", {}))
    ]
    for a, b in zip(both[0].moments, both[1].moments, strict=True):
        assert same(a.state, b.state)


@pytest.mark.certifies("fedrod", "law")
def test_equal_counts_change_nothing():
    """Where all classes are equally frequent, the balanced risk is the plain one."""
    people = population((6, 9, 3), seed=4)
    for rows in people.train:
        people.y[torch.from_numpy(rows)] = torch.arange(len(rows)) % 3
    model = {"dnn": architecture("dnn")}
    both = [
        Federated(make(name, {}, {"lr": LR}), people, model, epochs=2).run(3)
        for name in ("fedrod", "fedavg")
    ]
    for a, b in zip(both[0].moments, both[1].moments, strict=True):
        close(a.state, b.state, 1e-12)


def test_a_head_of_several_layers_is_refused():
    head = architecture("dnn").head._replace(linear=False)
    start = FederationInit({}, (0,), 0, 3, lambda k: {}, heads={"net": head})
    with pytest.raises(FedkinError, match=r"the head of net is none; leave out model\.head"):
        fedrod(lr=0.1).check(start, 1)


@pytest.mark.parametrize("wrong", [{"gamma": -0.1}, {"personal_lr": 0.0}])
def test_out_of_range(wrong):
    with pytest.raises(FedkinError, match=r"method\.\w+ of fedrod: input should be"):
        fedrod(lr=0.1, **wrong)


@pytest.mark.parametrize("counts", [(10, 10), (90, 10), (0, 20)])
def test_one_logit_is_balanced_as_two_are(counts):
    """The log odds η of a Bernoulli model are the logits (0, η) of a categorical one."""
    one, two = (model_of(outputs, family) for outputs, family in ((1, BERNOULLI), (2, CATEGORICAL)))
    prior = torch.tensor(counts, dtype=torch.float64).log()
    x = torch.linspace(-1, 2, 12, dtype=torch.float64).view(6, 2)
    y = torch.tensor([1, 1, 0, 1, 0, 1]) if counts[0] else torch.ones(6, dtype=torch.int64)
    batch = Batch(x, y, torch.full((6,), 1 / 6, dtype=torch.float64))
    weight = torch.tensor([[0.3, -0.7]], dtype=torch.float64)
    both = {"weight": torch.cat([torch.zeros_like(weight), weight])}
    assert balanced({"weight": weight}, one, batch, prior) == pytest.approx(
        balanced(both, two, batch, prior)
    )
    mine = gradient(balanced)({"weight": weight}, one, batch, prior)["weight"]
    theirs = gradient(balanced)(both, two, batch, prior)["weight"][1:]
    torch.testing.assert_close(mine, theirs)
    if counts[0] == counts[1]:
        torch.testing.assert_close(
            mine, gradient(plain_loss)({"weight": weight}, one, batch)["weight"]
        )


def plain_loss(w, model, batch):
    return model.loss(w, batch)


def model_of(outputs, family):
    layer = torch.nn.Linear(2, outputs, bias=False, dtype=torch.float64)
    return from_module("line", layer, family)
