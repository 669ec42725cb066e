"""Fed-RoD beside tests/reference/fedrod.py."""

import pytest
import torch

from fedkin.core.errors import FedkinError
from fedkin.core.method import FederationInit
from fedkin.methods import make
from fedkin.methods.fedrod import fedrod
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
HYPER = {"default": {}, "own rate": {"gamma": 0.5, "personal_lr": 0.7, "weights": "uniform"}}


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
        hyper.get("gamma", 1.0),
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
    with pytest.raises(FedkinError, match=r"the head of net is not; leave out model\.head"):
        fedrod(lr=0.1).check(start, 1)


@pytest.mark.parametrize("wrong", [{"gamma": -0.1}, {"personal_lr": 0.0}])
def test_out_of_range(wrong):
    with pytest.raises(FedkinError, match=r"method\.\w+ of fedrod: input should be"):
        fedrod(lr=0.1, **wrong)
