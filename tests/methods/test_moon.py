"""MOON beside tests/reference/moon.py."""

import pytest

from fedkin.core.errors import FedkinError
from fedkin.methods import make
from fedkin.methods.moon import moon
from tests.laws.small import same
from tests.methods.federation import (
    Federated,
    agree,
    agree_scores,
    architecture,
    arrays,
    population,
)
from tests.reference import moon as reference
from tests.reference.model import accuracy, mean_loss

LR, MU, TAU, ROUNDS = 0.3, 2.0, 0.4, 4
WORK = {
    "all": {"epochs": 1},
    "some, decay": {"steps": 3, "participation": 0.4, "milestones": (2,), "decay": 0.5},
}


@pytest.mark.certifies("moon", "reference")
@pytest.mark.parametrize("work", WORK.values(), ids=WORK)
def test_moon(work):
    model = architecture("dnn")
    made = moon(lr=LR, mu=MU, temperature=TAU)
    run = Federated(made, population(), {"dnn": model}, **work).run(ROUNDS)
    rates, who = run.rates(LR, ROUNDS), run.participants(ROUNDS)
    theirs = reference.moon(arrays(model.initial), run.data, run.plan(ROUNDS), who, rates, MU, TAU)
    for moment, other in zip(run.moments, theirs, strict=True):
        agree("moon", moment.state, {"parameters": other["model"]})
        for k, v in other["own"].items():
            agree("moon", moment.own[k], {"parameters": v})
            x, y, w = run.data[k]["x_test"], run.data[k]["y_test"], other["model"]
            agree_scores("moon", moment, k, "test", mean_loss(w, x, y), accuracy(w, x, y))


@pytest.mark.certifies("moon", "law")
@pytest.mark.parametrize("work", WORK.values(), ids=WORK)
def test_without_a_contrast_it_is_fedavg(work):
    """μ = 0: the server's states are FedAvg's, to the bit."""
    model = {"dnn": architecture("dnn")}
    both = [
        Federated(make(name, hyper, {"lr": LR}), population(), model, **work).run(ROUNDS)
        for name, hyper in (("moon", {"mu": 0.0}), ("fedavg", {}))
    ]
    for a, b in zip(both[0].moments, both[1].moments, strict=True):
        assert same(a.state, b.state)


@pytest.mark.certifies("moon", "law")
def test_the_first_round_is_fedavg():
    """Global model and last own model are one: the contrast says nothing yet."""
    model = {"dnn": architecture("dnn")}
    both = [
        Federated(make(name, hyper, {"lr": LR}), population(), model, epochs=1).run(2)
        for name, hyper in (("moon", {"mu": 5.0}), ("fedavg", {}))
    ]
    first, second = zip(both[0].moments, both[1].moments, strict=True)
    for name, value in first[0].state["parameters"].items():
        assert value == pytest.approx(first[1].state["parameters"][name], abs=1e-13)
    assert not same(second[0].state, second[1].state)


@pytest.mark.parametrize("wrong", [{"mu": -1.0}, {"temperature": 0.0}])
def test_out_of_range(wrong):
    with pytest.raises(FedkinError, match=r"method\.\w+ of moon: input should be"):
        moon(lr=0.1, **wrong)
